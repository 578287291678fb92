import java.io.Serializable;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Rows of a state store as Spark's reader gives them, (key, value, partition), in the raw form that its rewriter takes: the first
 * columns of the key, the bytes of key and value, and the name of the column family.
 *
 * A struct within a row of Spark's is a whole row of its own, so its bytes are those that the store holds.
 */
public final class StateBytes implements Function, Serializable {
    private static final long serialVersionUID = 1L;

    private final StructType key;
    private final int values;
    private final int prefix;
    private final String family;

    /**
     * @param key the fields of a key
     * @param values how many fields a value has
     * @param prefix how many of the key's fields Spark distributes the state by
     * @param family the column family that the rows are to be of
     */
    public StateBytes(StructType key, int values, int prefix, String family) {
        this.key = key;
        this.values = values;
        this.prefix = prefix;
        this.family = family;
    }

    public Object call(Object each) {
        InternalRow row = (InternalRow) each;
        UnsafeRow key = ((UnsafeRow) row.getStruct(0, this.key.length())).copy();
        UnsafeRow value = (UnsafeRow) row.getStruct(1, this.values);
        Object[] parts = new Object[this.prefix];
        for (int place = 0; place < this.prefix; place++) {
            parts[place] = key.get(place, this.key.fields()[place].dataType());
        }
        return new GenericInternalRow(
            new Object[] {new GenericInternalRow(parts), key.getBytes(), value.copy().getBytes(), UTF8String.fromString(this.family)}
        );
    }

    /** The raw rows of these, as Spark's own sequence of partitions. */
    public static Object raw(Object rows, Object function) {
        return ((JavaRDD) rows).map((Function) function).rdd();
    }
}
