import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperator;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo;
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec;
import org.apache.spark.sql.types.LongType$;

/**
 * Lets rows be counted, and kept, that are late for an operator with state: Spark keeps none, and of windows it counts them when
 * they are combined, as one of each key and window.
 *
 * An observation, or a select in another branch of the query, compares event times with a number that stands for the watermark. This
 * puts in its place the one by which the operator drops what is late in this epoch. A setting of the query's session says which of
 * Spark's operators has the name. An injector of columnar rules of a session: those alone see the plan of an epoch when its
 * watermarks are in it.
 */
public final class LateRows extends scala.runtime.AbstractFunction1 {
    /** Before the name of an aggregate or column: ``late:GRID:GAP:OPERATOR``. Rows end at multiples of GRID, GAP after the event. */
    public static final String LATE = "late:";
    /** Before the name of an operator: a setting of the query's session, Spark's number for it. */
    public static final String OPERATOR = "spark.pitstop.operator.";
    /** In the place of the last late time, in microseconds: no time is as low, so nothing is late as long as it stands there. */
    public static final long NEVER = Long.MIN_VALUE + 41;

    public Object apply(Object session) {
        return new Rules();
    }

    public static final class Rules extends ColumnarRule {
        private final Bounds bounds = new Bounds();

        public Rule preColumnarTransitions() {
            return this.bounds;
        }
    }

    public static final class Bounds extends Rule {
        public TreeNode apply(TreeNode plan) {
            Map watermarks = new HashMap();
            collect(plan, watermarks);
            return watermarks.isEmpty() ? plan : this.changed(plan, watermarks);
        }

        /** Puts down number of an operator -> the watermark in ms by which it drops rows. It may be in any branch. */
        private static void collect(TreeNode plan, Map watermarks) {
            if (plan instanceof StatefulOperator) {
                scala.Option info = ((StatefulOperator) plan).stateInfo();
                scala.Option late = late(plan);
                if (info.isDefined() && late.isDefined()) {
                    watermarks.put(Long.toString(((StatefulOperatorStateInfo) info.get()).operatorId()), late.get());
                }
            }
            for (int number = 0; number < plan.children().size(); number++) {
                collect((TreeNode) plan.children().apply(number), watermarks);
            }
        }

        private static scala.Option late(TreeNode operator) {
            if (operator instanceof StreamingSymmetricHashJoinExec) {
                return ((StreamingSymmetricHashJoinExec) operator).eventTimeWatermarkForLateEvents();
            }
            return operator instanceof WatermarkSupport ? ((WatermarkSupport) operator).eventTimeWatermarkForLateEvents()
                : scala.Option.empty();
        }

        private TreeNode changed(TreeNode plan, Map watermarks) {
            List after = new ArrayList();
            boolean differs = false;
            for (int number = 0; number < plan.children().size(); number++) {
                TreeNode child = (TreeNode) plan.children().apply(number);
                TreeNode made = this.changed(child, watermarks);
                differs = differs || made != child;
                after.add(made);
            }
            TreeNode made = differs ? plan.withNewChildren(seq(after)) : plan;
            if (made instanceof CollectMetricsExec) {
                CollectMetricsExec observation = (CollectMetricsExec) made;
                List aggregates = this.bounded(observation.metricExpressions(), watermarks);
                return aggregates == null ? made
                    : new CollectMetricsExec(observation.name(), seq(aggregates), observation.child());
            }
            if (made instanceof ProjectExec) {
                List columns = this.bounded(((ProjectExec) made).projectList(), watermarks);
                return columns == null ? made : new ProjectExec(seq(columns), ((ProjectExec) made).child());
            }
            return made;
        }

        /** The expressions with the bounds in them; null: they have no place for one. */
        private List bounded(scala.collection.immutable.Seq expressions, Map watermarks) {
            List after = new ArrayList();
            boolean differs = false;
            for (int number = 0; number < expressions.size(); number++) {
                Object expression = expressions.apply(number);
                if (expression instanceof Alias && ((Alias) expression).name().startsWith(LATE)) {
                    String[] parts = ((Alias) expression).name().split(":", 4);
                    Object watermark = watermarks.get(this.conf().getConfString(OPERATOR + parts[3], ""));
                    if (watermark != null) {
                        long last = Math.multiplyExact(((Long) watermark).longValue(), 1000L);
                        last = last - Math.floorMod(last, Long.parseLong(parts[1])) - Long.parseLong(parts[2]);
                        expression = replaced((TreeNode) expression, new Literal(Long.valueOf(last), LongType$.MODULE$));
                        differs = true;
                    }
                }
                after.add(expression);
            }
            return differs ? after : null;
        }

        private static scala.collection.immutable.Seq seq(List items) {
            return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
        }

        private static TreeNode replaced(TreeNode expression, Expression bound) {
            if (expression instanceof Literal && Long.valueOf(NEVER).equals(((Literal) expression).value())) {
                return bound;
            }
            List after = new ArrayList();
            boolean differs = false;
            for (int number = 0; number < expression.children().size(); number++) {
                TreeNode child = (TreeNode) expression.children().apply(number);
                TreeNode made = replaced(child, bound);
                differs = differs || made != child;
                after.add(made);
            }
            return differs ? expression.withNewChildren(seq(after)) : expression;
        }
    }
}
