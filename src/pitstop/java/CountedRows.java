import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.util.QueryExecutionListener;

/**
 * The rows of frames that are observed by name, in the first column of each observation. An action may read only some of them, as one
 * that shows ten rows: the action that reads most tells the number. Actions that have failed tell none.
 */
public final class CountedRows implements QueryExecutionListener {
    private final SparkSession session;
    private final Map counts = new HashMap();

    public CountedRows(Object session) {
        this.session = (SparkSession) session;
        this.session.listenerManager().register(this);
    }

    public synchronized void onSuccess(String action, QueryExecution execution, long nanoseconds) {
        scala.collection.Iterator observations = execution.observedMetrics().iterator();
        while (observations.hasNext()) {
            scala.Tuple2 observation = (scala.Tuple2) observations.next();
            Object rows = ((Row) observation._2()).get(0);
            if (rows instanceof Long) {
                Long before = (Long) this.counts.get(observation._1());
                this.counts.put(observation._1(), before == null || ((Long) rows).compareTo(before) > 0 ? rows : before);
            }
        }
    }

    public void onFailure(String action, QueryExecution execution, Exception failure) {
    }

    /** The counts so far, by name, once Spark has told of all actions that have ended. */
    public Map now(String milliseconds) throws Exception {
        this.session.sparkContext().listenerBus().waitUntilEmpty(Long.parseLong(milliseconds));
        synchronized (this) {
            return new HashMap(this.counts);
        }
    }

    public void end() {
        this.session.listenerManager().unregister(this);
    }
}
