import java.lang.reflect.Field;
import java.util.Iterator;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.SchedulingAlgorithm;

/**
 * The order in which the processes of an engine get its threads: the one with the fewest running tasks for its weight first, and of
 * those with as many the one that has waited longest.
 *
 * Spark's own FAIR order takes, of those with as many, the one whose name comes first. Where there are more processes than threads,
 * most have no running task, and the last names get nothing for as long as the first ones always have something to do.
 */
public final class OldestFirst implements SchedulingAlgorithm {
    /** Let the threads of a context be shared out in this order. */
    public static void order(SparkContext context) throws Exception {
        Field algorithm = Pool.class.getDeclaredField("taskSetSchedulingAlgorithm");
        algorithm.setAccessible(true);
        algorithm.set(context.taskScheduler().rootPool(), new OldestFirst());
    }

    public boolean comparator(Schedulable first, Schedulable second) {
        double share = share(first);
        double other = share(second);
        if (share != other) {
            return share < other;
        }
        return oldest(first) < oldest(second);
    }

    private static double share(Schedulable of) {
        return (double) of.runningTasks() / Math.max(1, of.weight());
    }

    /** Spark numbers its jobs in the order in which they come. */
    private static int oldest(Schedulable of) {
        int oldest = Integer.MAX_VALUE;
        Iterator waiting = of.schedulableQueue().iterator();
        while (waiting.hasNext()) {
            oldest = Math.min(oldest, ((Schedulable) waiting.next()).priority());
        }
        return oldest;
    }
}
