import java.io.Serializable;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * Rows in which the buffers of collect_set and collect_list, kept as bytes, become arrays.
 *
 * A buffer is a row of Spark's with one array, and does not say of what. Bytes that cannot be an array of the expected type are
 * refused before anything is read by an offset in them.
 */
public final class CollectedValues implements Function, Serializable {
    private static final long serialVersionUID = 1L;
    /** The row before its array: the bits of nulls, then offset and size. */
    private static final int HEAD = 16;
    private static final int WORD = 8;

    private final StructType before;
    private final StructType after;

    /**
     * @param before the columns as they are
     * @param after the columns as they are to be: arrays where there are bytes now
     */
    public CollectedValues(StructType before, StructType after) {
        this.before = before;
        this.after = after;
    }

    public Object call(Object each) {
        InternalRow row = ((InternalRow) each).copy();
        Object[] fields = new Object[this.before.length()];
        for (int place = 0; place < fields.length; place++) {
            DataType type = this.before.fields()[place].dataType();
            DataType expected = this.after.fields()[place].dataType();
            if (row.isNullAt(place)) {
                fields[place] = null;
            } else if (type.equals(expected)) {
                fields[place] = row.get(place, type);
            } else {
                fields[place] = array(row.getBinary(place), ((ArrayType) expected).elementType());
            }
        }
        return new GenericInternalRow(fields);
    }

    private static UnsafeArrayData array(byte[] bytes, DataType element) {
        if (bytes.length < HEAD + WORD) {
            throw other(element);
        }
        UnsafeRow row = new UnsafeRow(1);
        row.pointTo(bytes, bytes.length);
        long position = row.getLong(0);
        if (position >>> 32 != HEAD || (int) position != bytes.length - HEAD) {
            throw other(element);
        }
        long count = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + HEAD); // an array begins with its number of elements
        int size = bytes.length - HEAD;
        if (count < 0 || count > size) {
            throw other(element);
        }
        boolean fixed = UnsafeRow.isFixedLength(element);
        long width = fixed ? element.defaultSize() : WORD;
        long head = UnsafeArrayData.calculateHeaderPortionInBytes(count);
        long words = head + (count * width + WORD - 1) / WORD * WORD;
        if (fixed ? words != size : words > size) {
            throw other(element);
        }
        UnsafeArrayData array = row.getArray(0);
        for (int number = 0; !fixed && number < count; number++) {
            long part = array.getLong(number);
            long offset = part >>> 32;
            long length = (int) part;
            if (offset < words || length < 0 || offset + length > size) {
                throw other(element);
            }
        }
        return array.copy();
    }

    private static IllegalStateException other(DataType element) {
        return new IllegalStateException("NOT_COLLECTED: a buffer holds no array of " + element.catalogString());
    }

    /** The changed rows of these, as Spark's own sequence of partitions. */
    public static Object over(Object rows, Object function) {
        return ((JavaRDD) rows).map((Function) function).rdd();
    }
}
