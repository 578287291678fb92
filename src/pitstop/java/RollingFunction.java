import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.streaming.GroupState;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What a rolling aggregate does with the rows of one key in an epoch: the function of Spark's flatMapGroupsWithState.
 *
 * All rows are Spark's internal ones, so no value is converted. A row comes in with its lifted values and, last, its event time in
 * ms; it goes out with the accumulators after it. The state is a row of the accumulators and, last, the latest event time.
 */
public final class RollingFunction implements scala.Function3, Serializable {
    private static final long serialVersionUID = 1L;

    private final Seq steps;
    private final Seq inputs;
    private final int width;
    private final int time;
    private final boolean ordered;
    private final boolean restores;
    private transient MutableProjection step;

    /**
     * @param steps for each accumulator the expression that takes a row into it
     * @param inputs the attributes that these are written in: the accumulators, then the fields of a row
     * @param width how many accumulators there are
     * @param time the place of the event time in a row
     * @param ordered true if rows are taken in by their event time, else as they come
     * @param restores true if rows come in pairs with saved state, of which one is null
     */
    public RollingFunction(Seq steps, Seq inputs, int width, int time, boolean ordered, boolean restores) {
        this.steps = steps;
        this.inputs = inputs;
        this.width = width;
        this.time = time;
        this.ordered = ordered;
        this.restores = restores;
    }

    public Object apply(Object key, Object values, Object state) {
        if (this.step == null) {
            this.step = MutableProjection.create(this.steps, this.inputs);
        }
        Folded folded = new Folded(this, (GroupState) state);
        return CollectionConverters.asScala(folded.over(CollectionConverters.asJava((scala.collection.Iterator) values)));
    }

    /** The rows of one key with what its accumulators are after each. */
    static final class Folded implements Iterator {
        private final RollingFunction function;
        private final GroupState state;
        private Iterator rows;
        private InternalRow held;
        private Object last;
        private boolean touched;

        Folded(RollingFunction function, GroupState state) {
            this.function = function;
            this.state = state;
            this.held = new GenericInternalRow(function.width);
            if (state.exists()) {
                this.take((InternalRow) state.get());
            }
        }

        Iterator over(Iterator given) {
            this.rows = this.function.restores ? this.live(given) : given;
            if (this.function.ordered) {
                this.rows = this.inOrder(this.rows);
            }
            return this;
        }

        public boolean hasNext() {
            if (this.rows.hasNext()) {
                return true;
            }
            if (this.touched) {
                this.touched = false;
                this.keep();
            }
            return false;
        }

        public Object next() {
            InternalRow row = (InternalRow) this.rows.next();
            // A row of its own: what follows may still hold the one before.
            InternalRow now = new GenericInternalRow(this.function.width);
            this.function.step.target(now).apply(new JoinedRow(this.held, row));
            this.held = now;
            this.touched = true;
            if (!row.isNullAt(this.function.time)) {
                long at = row.getLong(this.function.time);
                if (this.last == null || at > ((Long) this.last).longValue()) {
                    this.last = Long.valueOf(at);
                }
            }
            return new JoinedRow(row, now);
        }

        public void remove() {
            throw new UnsupportedOperationException();
        }

        private void take(InternalRow saved) {
            Object[] values = new Object[this.function.width];
            GenericInternalRow own = (GenericInternalRow) saved;
            System.arraycopy(own.values(), 0, values, 0, values.length);
            this.held = new GenericInternalRow(values);
            this.last = own.values()[values.length];
        }

        private void keep() {
            Object[] values = new Object[this.function.width + 1];
            System.arraycopy(((GenericInternalRow) this.held).values(), 0, values, 0, this.function.width);
            values[this.function.width] = this.last;
            this.state.update(new GenericInternalRow(values));
        }

        /** The rows without the saved state, which is taken in. */
        private Iterator live(Iterator pairs) {
            ArrayList found = new ArrayList();
            while (pairs.hasNext()) {
                InternalRow pair = (InternalRow) pairs.next();
                if (pair.isNullAt(1)) {
                    found.add(pair.getStruct(0, this.function.time + 1));
                } else {
                    this.take(pair.getStruct(1, this.function.width + 1));
                    this.touched = true;
                }
            }
            return found.iterator();
        }

        /** By event time; of equal times in the order in which they came. Rows without one come first. */
        private Iterator inOrder(Iterator given) {
            ByTime byTime = new ByTime(this.function.time);
            ArrayList found = new ArrayList();
            boolean sorted = true;
            while (given.hasNext()) {
                Object row = given.next();
                sorted = sorted && (found.isEmpty() || byTime.compare(found.get(found.size() - 1), row) <= 0);
                found.add(row);
            }
            if (!sorted) {
                Collections.sort(found, byTime);
            }
            return found.iterator();
        }
    }

    /** Compares rows by their event time. */
    static final class ByTime implements Comparator {
        private final int time;

        ByTime(int time) {
            this.time = time;
        }

        public int compare(Object one, Object other) {
            return Long.compare(this.at((InternalRow) one), this.at((InternalRow) other));
        }

        private long at(InternalRow row) {
            return row.isNullAt(this.time) ? Long.MIN_VALUE : row.getLong(this.time);
        }
    }
}
