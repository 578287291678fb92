import java.lang.reflect.Field;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.local.LocalEndpoint;
import org.apache.spark.scheduler.local.LocalSchedulerBackend;

/**
 * More tasks at the same time than a JVM has cores. The tasks of an epoch in real time run for its whole length, all at once, and wait
 * most of that time.
 */
public final class TaskSlots {
    /** Let so many tasks run at once. What Spark takes from the number of cores, as that of partitions, stays as it is. */
    public static String set(SparkContext context, String slots) throws Exception {
        LocalSchedulerBackend backend = (LocalSchedulerBackend) field(context.getClass(), "_schedulerBackend").get(context);
        int more = Integer.parseInt(slots) - backend.totalCores();
        context.conf().setIfMissing("spark.default.parallelism", String.valueOf(backend.totalCores()));
        LocalEndpoint endpoint = endpoint(backend);
        Field total = field(LocalSchedulerBackend.class, "totalCores");
        total.setInt(backend, backend.totalCores() + more);
        scala.math.BigDecimal free = endpoint.org$apache$spark$scheduler$local$LocalEndpoint$$freeCores();
        scala.math.BigDecimal grown = scala.math.BigDecimal$.MODULE$.apply(free.toInt() + more);
        endpoint.org$apache$spark$scheduler$local$LocalEndpoint$$freeCores_$eq(grown);
        return String.valueOf(backend.totalCores());
    }

    private static LocalEndpoint endpoint(LocalSchedulerBackend backend) throws Exception {
        // Janino cannot compile what names SparkEnv, which has it, too.
        Object reference = field(LocalSchedulerBackend.class, "localEndpoint").get(backend);
        Object rpc = field(reference.getClass(), "nettyEnv").get(reference);
        Object dispatcher = field(rpc.getClass(), "dispatcher").get(rpc);
        Map references = (Map) field(dispatcher.getClass(), "endpointRefs").get(dispatcher);
        for (Iterator endpoints = references.keySet().iterator(); endpoints.hasNext(); ) {
            Object endpoint = endpoints.next();
            if (endpoint instanceof LocalEndpoint) {
                return (LocalEndpoint) endpoint;
            }
        }
        throw new IllegalStateException("This JVM runs no tasks of its own.");
    }

    private static Field field(Class of, String name) throws Exception {
        Field field = of.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
