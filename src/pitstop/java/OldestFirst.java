import java.lang.reflect.Field;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.SchedulingAlgorithm;

/**
 * The order in which the processes of an engine get its threads: the one with the fewest running tasks for its weight first, and of
 * those with as many the one that has waited longest. Each unit of weight above one counts as if its work had come some of Spark's
 * jobs earlier. So weight also tells where there are more processes than threads and most of them run nothing, and no process waits
 * for ever: what comes later is later by more than any weight is worth.
 *
 * Spark's own FAIR order takes, of those with as many, the one whose name comes first. Where there are more processes than threads,
 * most have no running task, and the last names get nothing for as long as the first ones always have something to do.
 */
public final class OldestFirst implements SchedulingAlgorithm {
    private static final int JOBS_EARLIER = 10;
    private static final Map WEIGHTS = new ConcurrentHashMap();

    /** Give a process a weight other than one. */
    public static void weigh(String process, int weight) {
        WEIGHTS.put(process, Integer.valueOf(weight));
    }

    public static void forget(String process) {
        WEIGHTS.remove(process);
    }

    /** Let the threads of a context be shared out in this order. */
    public static void order(SparkContext context) throws Exception {
        Field algorithm = Pool.class.getDeclaredField("taskSetSchedulingAlgorithm");
        algorithm.setAccessible(true);
        algorithm.set(context.taskScheduler().rootPool(), new OldestFirst());
    }

    public boolean comparator(Schedulable first, Schedulable second) {
        int weight = weight(first);
        int otherWeight = weight(second);
        double share = (double) first.runningTasks() / weight;
        double otherShare = (double) second.runningTasks() / otherWeight;
        if (share != otherShare) {
            return share < otherShare;
        }
        return oldest(first) - (long) JOBS_EARLIER * weight < oldest(second) - (long) JOBS_EARLIER * otherWeight;
    }

    private static int weight(Schedulable of) {
        Object weight = WEIGHTS.get(of.name());
        return weight == null ? 1 : ((Integer) weight).intValue();
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
