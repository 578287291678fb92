import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo;
import org.apache.spark.sql.execution.streaming.operators.stateful.StreamingAggregationStateManager;
import org.apache.spark.sql.execution.streaming.state.EvictionIterator;
import org.apache.spark.sql.execution.streaming.state.ReadStateStore;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.types.StructType;

/**
 * Lets the windows of a query rest in epochs in which none of them can end: Spark would look at each one that is kept, in every
 * epoch, to find those that the watermark has passed.
 *
 * Windows end at whole multiples of their slide. As long as the watermark has reached none since all of them were looked at, and
 * rows that would have been in an earlier one are dropped as late, none has ended. An injector of columnar rules of a session:
 * those alone see the plan of an epoch when its watermarks are in it.
 */
public final class RestingWindows extends scala.runtime.AbstractFunction1 {
    /** Before the name of a window's column: a setting of the query's session, the window's slide in ms. */
    public static final String SLIDE = "spark.pitstop.slide.";

    public Object apply(Object session) {
        return new Rules();
    }

    /** Those of one query: Spark copies a session for each. */
    public static final class Rules extends ColumnarRule {
        private final Rest rest = new Rest();

        public Rule preColumnarTransitions() {
            return this.rest;
        }
    }

    /** Takes, in the plan of an epoch, the operators whose windows may rest for those that let them. */
    public static final class Rest extends Rule {
        /** Run and operator -> the last epoch that looks at all windows, and its watermark. */
        private final Map looked = new HashMap();

        public TreeNode apply(TreeNode plan) {
            return this.changed((SparkPlan) plan);
        }

        private SparkPlan changed(SparkPlan plan) {
            scala.collection.immutable.Seq before = plan.children();
            List after = new ArrayList();
            boolean differs = false;
            for (int number = 0; number < before.size(); number++) {
                SparkPlan child = (SparkPlan) before.apply(number);
                SparkPlan made = this.changed(child);
                differs = differs || made != child;
                after.add(made);
            }
            SparkPlan made = plan;
            if (differs) {
                made = (SparkPlan) plan.withNewChildren(scala.jdk.javaapi.CollectionConverters.asScala(after).toSeq());
            }
            if (made.getClass() == StateStoreSaveExec.class && this.rests((StateStoreSaveExec) made)) {
                return Resting.of((StateStoreSaveExec) made, ((StateStoreSaveExec) made).child());
            }
            return made;
        }

        private synchronized boolean rests(StateStoreSaveExec windows) {
            long slide = this.slide(windows.keyExpressions());
            scala.Option late = windows.eventTimeWatermarkForLateEvents();
            scala.Option ending = windows.eventTimeWatermarkForEviction();
            if (slide <= 0 || late.isEmpty() || ending.isEmpty() || windows.stateInfo().isEmpty()) {
                return false;
            }
            StatefulOperatorStateInfo info = (StatefulOperatorStateInfo) windows.stateInfo().get();
            String operator = info.queryRunId() + " " + info.operatorId();
            long watermark = ((Long) ending.get()).longValue();
            long end = Math.floorDiv(watermark, slide);
            long[] last = (long[]) this.looked.get(operator);
            if (last != null && last[0] < info.storeVersion() && Math.floorDiv(last[1], slide) == end
                    && Math.floorDiv(((Long) late.get()).longValue(), slide) == end) {
                return true;
            }
            this.looked.put(operator, new long[] {info.storeVersion(), watermark});
            return false;
        }

        private long slide(scala.collection.immutable.Seq keys) {
            for (int number = 0; number < keys.size(); number++) {
                String slide = this.conf().getConfString(SLIDE + ((Attribute) keys.apply(number)).name(), "0");
                if (!slide.equals("0")) {
                    return Long.parseLong(slide);
                }
            }
            return 0;
        }
    }

    /** Spark's operator, to which no window that is kept is shown. */
    public static final class Resting extends StateStoreSaveExec {
        private StreamingAggregationStateManager unseen;

        public Resting(scala.collection.immutable.Seq keys, scala.Option info, scala.Option mode, scala.Option late,
                scala.Option ending, int version, SparkPlan child) {
            super(keys, info, mode, late, ending, version, child);
        }

        static Resting of(StateStoreSaveExec from, SparkPlan child) {
            return new Resting(from.keyExpressions(), from.stateInfo(), from.outputMode(), from.eventTimeWatermarkForLateEvents(),
                from.eventTimeWatermarkForEviction(), from.stateFormatVersion(), child);
        }

        public StreamingAggregationStateManager stateManager() {
            if (this.unseen == null) {
                StreamingAggregationStateManager own = super.stateManager();
                this.unseen = own == null ? null : new Unseen(own);
            }
            return this.unseen;
        }

        public StateStoreSaveExec withNewChildInternal(SparkPlan child) {
            return of(this, child);
        }

        // Spark leaves a child in its place if the one that is to take it equals it.
        public boolean canEqual(Object other) {
            return other instanceof Resting;
        }

        public boolean equals(Object other) {
            return other instanceof Resting && super.equals(other);
        }

        public int hashCode() {
            return super.hashCode();
        }
    }

    /** Reads and writes state as another one does, but goes through none of it. */
    public static final class Unseen implements StreamingAggregationStateManager {
        private final StreamingAggregationStateManager own;

        Unseen(StreamingAggregationStateManager own) {
            this.own = own;
        }

        public UnsafeRow getKey(UnsafeRow row) {
            return this.own.getKey(row);
        }

        public StructType getStateValueSchema() {
            return this.own.getStateValueSchema();
        }

        public UnsafeRow get(ReadStateStore store, UnsafeRow key) {
            return this.own.get(store, key);
        }

        public void put(StateStore store, UnsafeRow row) {
            this.own.put(store, row);
        }

        public long commit(StateStore store) {
            return this.own.commit(store);
        }

        public void remove(StateStore store, UnsafeRow key) {
            this.own.remove(store, key);
        }

        public scala.collection.Iterator iterator(ReadStateStore store) {
            return scala.collection.Iterator$.MODULE$.empty();
        }

        public scala.collection.Iterator keys(ReadStateStore store) {
            return this.own.keys(store);
        }

        public scala.collection.Iterator values(ReadStateStore store) {
            return this.own.values(store);
        }

        public EvictionIterator evictionIterator(StateStore store, scala.Option watermark, boolean incremental) {
            return this.own.evictionIterator(store, watermark, incremental);
        }
    }
}
