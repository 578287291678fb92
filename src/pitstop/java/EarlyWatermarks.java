import java.lang.reflect.Field;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeWatermarkExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperator;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo;
import org.apache.spark.sql.execution.streaming.operators.stateful.flatmapgroupswithstate.FlatMapGroupsWithStateExecBase;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.MultipleWatermarkPolicy;
import org.apache.spark.sql.execution.streaming.runtime.MultipleWatermarkPolicy$;
import org.apache.spark.sql.execution.streaming.runtime.PropagateWatermarkSimulator;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Lets the queries of a session have watermarks before 1970, which Spark takes for 0: all rows before 1970 would be late. And
 * lets what follows a join lag behind the watermark by the join's bound, also where functions with state stand between them.
 *
 * Spark calls this listener in the thread of a query before the query plans anything. LOWEST is the watermark of a query that
 * has seen no event time yet. A watermark from 0 on is Spark's own affair: but for those lags nothing is changed then.
 */
public final class EarlyWatermarks extends StreamingQueryListener {
    static final long LOWEST = -62135596800000L;
    /** Watermarks below 0 are moved up by this where Spark works with them. */
    static final long ORIGIN = -2L * LOWEST;

    private final SparkSession session;

    public EarlyWatermarks(SparkSession session) {
        this.session = session;
    }

    public void onQueryStarted(StreamingQueryListener.QueryStartedEvent event) {
        Object query = this.session.streams().get(event.id());
        if (query instanceof StreamingQueryWrapper) {
            StreamExecution execution = ((StreamingQueryWrapper) query).streamingQuery();
            if (execution instanceof MicroBatchExecution) {
                try {
                    Field field = MicroBatchExecution.class.getDeclaredField("watermarkPropagator");
                    field.setAccessible(true);
                    field.set(execution, new Propagator((MicroBatchExecution) execution));
                } catch (Exception error) {
                    throw new RuntimeException(error);
                }
            }
        }
    }

    public void onQueryProgress(StreamingQueryListener.QueryProgressEvent event) {}

    public void onQueryTerminated(StreamingQueryListener.QueryTerminatedEvent event) {}

    /** What each stateful operator takes for its watermark. */
    public static final class Propagator extends PropagateWatermarkSimulator {
        private final MicroBatchExecution execution;
        private final TreeSet unknown = new TreeSet();
        private final TreeSet moved = new TreeSet();
        /** Operators that refuse a watermark below 0: those with a state for each group and its one timeout. */
        private final TreeSet grouped = new TreeSet();
        /** Operator -> by how many ms its watermark is lower than Spark takes it for. */
        private final TreeMap forgotten = new TreeMap();
        private boolean planned = false;

        Propagator(MicroBatchExecution execution) {
            this.execution = execution;
        }

        public void propagate(long epoch, SparkPlan plan, long watermark) {
            if (!this.planned) {
                this.planned = true;
                this.execution.watermarkTracker_$eq(new Tracker(this.execution, epoch <= 0 && watermark == 0));
                this.findLags(plan);
            }
            Long number = Long.valueOf(epoch);
            if (epoch >= 0 && (watermark <= LOWEST || (epoch == 0 && watermark == 0))) {
                this.unknown.add(number);
                super.propagate(epoch, plan, 0);
            } else if (epoch >= 0 && watermark < 0) {
                this.moved.add(number);
                super.propagate(epoch, plan, watermark + ORIGIN);
            } else {
                super.propagate(epoch, plan, watermark);
            }
        }

        public long getInputWatermarkForLateEvents(long epoch, long operator) {
            return this.real(epoch - 1, super.getInputWatermarkForLateEvents(epoch, operator), operator);
        }

        public long getInputWatermarkForEviction(long epoch, long operator) {
            long watermark = this.real(epoch, super.getInputWatermarkForEviction(epoch, operator), operator);
            return this.grouped.contains(Long.valueOf(operator)) ? Math.max(watermark, 0) : watermark;
        }

        public void purge(long epoch) {
            super.purge(epoch);
            this.unknown.headSet(Long.valueOf(epoch), true).clear();
            this.moved.headSet(Long.valueOf(epoch), true).clear();
        }

        /**
         * By how many ms rows of the plan may lag behind the query's watermark: really, and as Spark knows it.
         *
         * Spark lets the watermark begin anew where the event time is set behind a function with state, without the joins below.
         */
        private long[] findLags(SparkPlan plan) {
            long real = 0;
            long known = 0;
            scala.collection.immutable.Seq children = plan.children();
            for (int number = 0; number < children.size(); number++) {
                long[] below = this.findLags((SparkPlan) children.apply(number));
                real = Math.max(real, below[0]);
                known = Math.max(known, below[1]);
            }
            if (plan instanceof StateStoreWriter) {
                StatefulOperatorStateInfo info = (StatefulOperatorStateInfo) ((StatefulOperator) plan).stateInfo().get();
                Long operator = Long.valueOf(info.operatorId());
                this.forgotten.put(operator, Long.valueOf(real - known));
                if (plan instanceof FlatMapGroupsWithStateExecBase) {
                    this.grouped.add(operator);
                }
            }
            if (plan instanceof EventTimeWatermarkExec) {
                known = 0;
            } else if (plan instanceof StreamingSymmetricHashJoinExec) {
                scala.Option after = ((StateStoreWriter) plan).produceOutputWatermark(ORIGIN);
                long own = after.isDefined() ? ORIGIN - ((Long) after.get()).longValue() : 0;
                real += own;
                known += own;
            }
            return new long[] {real, known};
        }

        private long real(long epoch, long watermark, long operator) {
            Long number = Long.valueOf(epoch);
            if (epoch < 0 || this.unknown.contains(number)) {
                return LOWEST - 1;
            }
            Long lag = (Long) this.forgotten.get(Long.valueOf(operator));
            long moved = this.moved.contains(number) ? watermark - ORIGIN : watermark;
            return lag == null ? moved : Math.max(LOWEST - 1, moved - lag.longValue());
        }
    }

    /** The watermark of a query. */
    public static final class Tracker extends WatermarkTracker {
        Tracker(MicroBatchExecution execution, boolean first) {
            super(policy(execution), execution.logicalPlan());
            this.setWatermark(first ? LOWEST : execution.watermarkTracker().currentWatermark());
        }

        public void updateWatermark(SparkPlan executed) {
            if (this.currentWatermark() < 0) {
                // What has had no rows in this run would count as 0, which is above what others have reached.
                raiseToLowest(executed);
            }
            super.updateWatermark(executed);
        }

        private static void raiseToLowest(SparkPlan plan) {
            if (plan instanceof EventTimeWatermarkExec) {
                EventTimeWatermarkExec operator = (EventTimeWatermarkExec) plan;
                operator.eventTimeStats().add(LOWEST + operator.delayMs());
            }
            scala.collection.immutable.Seq children = plan.children();
            for (int number = 0; number < children.size(); number++) {
                raiseToLowest((SparkPlan) children.apply(number));
            }
        }

        private static MultipleWatermarkPolicy policy(MicroBatchExecution execution) {
            String setting = "spark.sql.streaming.multipleWatermarkPolicy";
            return MultipleWatermarkPolicy$.MODULE$.apply(execution.sparkSession().conf().get(setting, "min"));
        }
    }
}
