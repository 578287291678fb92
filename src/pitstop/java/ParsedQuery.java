import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedGenerator;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Product;

/**
 * What a plan holds that a query may not have. The plan is one of Spark's parser, in which nothing has been looked up yet.
 *
 * Looks at all that a node is made of, and not at its children alone: other plans stand in expressions, in WITH, in arguments.
 */
public final class ParsedQuery {
    private static final String PACKAGE = "org.apache.spark.sql.catalyst.";

    private final Set nodes;
    private final Map arguments = new HashMap();

    /**
     * Both with blanks between: the classes of nodes that it may have, and functions that it may call as "name:arguments", the most
     * that it may give, below 0 for any number.
     */
    public ParsedQuery(String nodes, String functions) {
        this.nodes = new HashSet(Arrays.asList(nodes.split(" ")));
        for (String function : functions.split(" ")) {
            String[] parts = function.split(":");
            this.arguments.put(parts[0], Integer.valueOf(parts[1]));
        }
    }

    /** What the first thing is called that it may not have; an empty text if there is none. */
    public String refused(Object plan) {
        ArrayDeque left = new ArrayDeque();
        // A thing may stand in many places, as what CASE compares does: once for each WHEN, and within one another.
        IdentityHashMap seen = new IdentityHashMap();
        left.push(plan);
        while (!left.isEmpty()) {
            Object thing = left.pop();
            if (seen.put(thing, thing) != null) {
                continue;
            }
            String refused = thing instanceof TreeNode ? this.refusedNode(thing) : "";
            if (!refused.isEmpty()) {
                return refused;
            }
            scala.collection.Iterator parts = null;
            if (thing instanceof TreeNode) {
                parts = ((Product) thing).productIterator();
            } else if (thing instanceof scala.collection.Iterable) {
                parts = ((scala.collection.Iterable) thing).iterator();
            } else if (thing instanceof Product) {
                parts = ((Product) thing).productIterator();
            }
            while (parts != null && parts.hasNext()) {
                Object part = parts.next();
                if (part != null) {
                    left.push(part);
                }
            }
        }
        return "";
    }

    private String refusedNode(Object node) {
        String name = node.getClass().getName();
        if (!name.startsWith(PACKAGE) || !this.nodes.contains(name.substring(PACKAGE.length()))) {
            return node.getClass().getSimpleName();
        }
        if (node instanceof UnresolvedRelation && ((UnresolvedRelation) node).multipartIdentifier().size() != 1) {
            return ((UnresolvedRelation) node).name();
        }
        if (node instanceof UnresolvedFunction) {
            UnresolvedFunction call = (UnresolvedFunction) node;
            return this.refusedCall((String) call.nameParts().last(), call.arguments().size());
        }
        if (node instanceof UnresolvedTableValuedFunction) {
            UnresolvedTableValuedFunction call = (UnresolvedTableValuedFunction) node;
            return this.refusedCall((String) call.name().last(), call.functionArgs().size());
        }
        if (node instanceof UnresolvedGenerator) {
            UnresolvedGenerator call = (UnresolvedGenerator) node;
            return this.refusedCall(call.name().funcName(), call.children().size());
        }
        return "";
    }

    private String refusedCall(String name, int given) {
        Integer most = (Integer) this.arguments.get(name.toLowerCase(java.util.Locale.ROOT));
        return most == null || most.intValue() >= 0 && given > most.intValue() ? name : "";
    }
}
