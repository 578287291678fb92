import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.flatmapgroupswithstate.FlatMapGroupsWithStateExec;

/**
 * Takes away the sort by key below functions with state, in queries in real time: a sort holds all rows back until the epoch ends.
 *
 * Without it, the function gets runs of rows with one key. Spark reads the key's state before each run and writes it after it. An
 * injector of columnar rules of a session; a setting of the query's session says that it is in real time.
 */
public final class RowByRow extends scala.runtime.AbstractFunction1 {
    public static final String SETTING = "spark.pitstop.row.by.row";

    public Object apply(Object session) {
        return new Rules();
    }

    public static final class Rules extends ColumnarRule {
        private final Unsorted unsorted = new Unsorted();

        public Rule preColumnarTransitions() {
            return this.unsorted;
        }
    }

    public static final class Unsorted extends Rule {
        public TreeNode apply(TreeNode plan) {
            return "true".equals(this.conf().getConfString(SETTING, "false")) ? changed(plan) : plan;
        }

        private static TreeNode changed(TreeNode plan) {
            List after = new ArrayList();
            boolean differs = false;
            for (int number = 0; number < plan.children().size(); number++) {
                TreeNode child = (TreeNode) plan.children().apply(number);
                TreeNode made = changed(child);
                if (plan instanceof FlatMapGroupsWithStateExec && made instanceof SortExec) {
                    made = (TreeNode) ((SortExec) made).child();
                }
                differs = differs || made != child;
                after.add(made);
            }
            return differs ? plan.withNewChildren(scala.jdk.javaapi.CollectionConverters.asScala(after).toSeq()) : plan;
        }
    }
}
