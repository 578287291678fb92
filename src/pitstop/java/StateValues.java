import java.io.Serializable;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Raw rows of state, as StateBytes gives them, whose values in one column family get their fields in another order. */
public final class StateValues implements Function, Serializable {
    private static final long serialVersionUID = 1L;

    private final String family;
    private final StructType before;
    private final StructType after;
    private final int[] places;
    private final int prefix;
    private transient UnsafeProjection projection;

    /**
     * @param family the column family; rows of others stay as they are
     * @param before the fields of its values as they are
     * @param after the fields that its values are to have
     * @param places the places where these are now, in their order; -1: the field becomes null
     * @param prefix how many fields the first column of a raw row has
     */
    public StateValues(String family, StructType before, StructType after, int[] places, int prefix) {
        this.family = family;
        this.before = before;
        this.after = after;
        this.places = places;
        this.prefix = prefix;
    }

    public Object call(Object each) {
        InternalRow row = ((InternalRow) each).copy();
        if (!row.getUTF8String(3).toString().equals(this.family)) {
            return row;
        }
        Object[] parts = new Object[] {
            row.getStruct(0, this.prefix), row.getBinary(1), this.changed(row.getBinary(2)), row.getUTF8String(3)
        };
        return new GenericInternalRow(parts);
    }

    private byte[] changed(byte[] bytes) {
        if (this.projection == null) {
            DataType[] types = new DataType[this.places.length];
            for (int place = 0; place < types.length; place++) {
                types[place] = this.after.fields()[place].dataType();
            }
            this.projection = UnsafeProjection.create(types);
        }
        UnsafeRow value = new UnsafeRow(this.before.length());
        value.pointTo(bytes, bytes.length);
        Object[] fields = new Object[this.places.length];
        for (int place = 0; place < fields.length; place++) {
            int from = this.places[place];
            fields[place] = from < 0 ? null : value.get(from, this.before.fields()[from].dataType());
        }
        return this.projection.apply(new GenericInternalRow(fields)).getBytes();
    }

    /** The changed rows of these, as Spark's own sequence of partitions. */
    public static Object over(Object rows, Object function) {
        return ((JavaRDD) rows).map((Function) function).rdd();
    }
}
