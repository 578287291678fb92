import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.Tuple2;

/**
 * A function from a row of columns to the bytes of an Avro record, behind 0 and the id of its schema if it has one.
 *
 * Times come as numbers, days or microseconds since 1970, so that no calendar of Java touches them.
 */
public final class AvroBytes implements UDF1, Serializable {
    private static final long serialVersionUID = 1L;

    private final String text;
    private final int id;
    private final StructType columns;
    private transient Part part;
    private transient ByteArrayOutputStream bytes;
    private transient BinaryEncoder encoder;

    /**
     * @param text the schema, a record of Avro as JSON
     * @param id the id of the schema in a registry; negative: values begin without one
     * @param columns the columns of a row, with the types that they have as columns
     */
    public AvroBytes(String text, Integer id, StructType columns) {
        this.text = text;
        this.id = id.intValue();
        this.columns = columns;
    }

    /** This function of a column. */
    public Column of(Column row) {
        return functions.udf((UDF1) this, DataTypes.BinaryType).apply(new Column[] {row});
    }

    /** Why no row can be written; null if rows can be. */
    public String problem() {
        try {
            this.prepare();
            return null;
        } catch (AvroRuntimeException error) {
            return "it is no schema of Avro: " + error.getMessage().split("\n")[0];
        } catch (MisfitException error) {
            return "the schema of Avro does not fit the columns: " + error.getMessage();
        }
    }

    public Object call(Object row) throws Exception {
        if (row == null) {
            return null;
        }
        this.prepare();
        this.bytes.reset();
        if (this.id >= 0) {
            this.bytes.write(0);
            this.bytes.write(ByteBuffer.allocate(4).putInt(this.id).array());
        }
        this.encoder = EncoderFactory.get().binaryEncoder(this.bytes, this.encoder);
        this.part.write(row, this.encoder);
        this.encoder.flush();
        return this.bytes.toByteArray();
    }

    private void prepare() {
        if (this.part == null) {
            this.bytes = new ByteArrayOutputStream();
            Schema schema = new Schema.Parser().parse(this.text);
            this.part = Part.of(schema, this.columns, "");
        }
    }

    /** A column that has no place in the schema, or a field that has no column. */
    static final class MisfitException extends RuntimeException {
        MisfitException(String message) {
            super(message);
        }
    }

    /** How a value of a column is written. */
    static final class Part {
        private static final int BOOLEAN = 0;
        private static final int INT = 1;
        private static final int LONG = 2;
        private static final int FLOAT = 3;
        private static final int DOUBLE = 4;
        private static final int TEXT = 5;
        private static final int ENUM = 6;
        private static final int BINARY = 7;
        private static final int DECIMAL = 8;
        private static final int MILLIS = 9;
        private static final int ARRAY = 10;
        private static final int MAP = 11;
        private static final int ROW = 12;

        private final int kind;
        private final Schema schema;
        private final String path;
        private Part[] parts;
        private int[] places;
        /** The places of null and of the value in a union; -1: the schema is no union, or one without null. */
        private int nullPlace = -1;
        private int valuePlace = -1;

        private Part(int kind, Schema schema, String path) {
            this.kind = kind;
            this.schema = schema;
            this.path = path;
        }

        static Part of(Schema schema, DataType type, String path) {
            if (schema.getType() != Schema.Type.UNION) {
                return plain(schema, type, path);
            }
            List types = schema.getTypes();
            int nullPlace = -1;
            int valuePlace = -1;
            Part part = null;
            MisfitException misfit = null;
            for (int number = 0; number < types.size(); number++) {
                Schema one = (Schema) types.get(number);
                if (one.getType() == Schema.Type.NULL) {
                    nullPlace = number;
                } else if (part == null) {
                    try {
                        part = plain(one, type, path);
                        valuePlace = number;
                    } catch (MisfitException error) {
                        misfit = error;
                    }
                }
            }
            if (part == null) {
                throw misfit != null ? misfit : new MisfitException("field " + path + " is always null");
            }
            part.nullPlace = nullPlace;
            part.valuePlace = valuePlace;
            return part;
        }

        private static Part plain(Schema schema, DataType type, String path) {
            Schema.Type avro = schema.getType();
            LogicalType logical = schema.getLogicalType();
            boolean isInt = avro == Schema.Type.INT;
            boolean isLong = avro == Schema.Type.LONG;
            boolean octets = avro == Schema.Type.BYTES || avro == Schema.Type.FIXED;
            boolean small = type instanceof IntegerType || type instanceof ShortType || type instanceof ByteType;
            if (type instanceof BooleanType && avro == Schema.Type.BOOLEAN) {
                return new Part(BOOLEAN, schema, path);
            }
            if (logical == null && small && isInt || type instanceof DateType && isInt && logical instanceof LogicalTypes.Date) {
                return new Part(INT, schema, path);
            }
            if (logical == null && isLong && (small || type instanceof LongType)) {
                return new Part(LONG, schema, path);
            }
            if (type instanceof FloatType && avro == Schema.Type.FLOAT) {
                return new Part(FLOAT, schema, path);
            }
            if (avro == Schema.Type.DOUBLE && (type instanceof DoubleType || type instanceof FloatType || small)) {
                return new Part(DOUBLE, schema, path);
            }
            if (type instanceof StringType && (avro == Schema.Type.STRING || avro == Schema.Type.ENUM)) {
                return new Part(avro == Schema.Type.STRING ? TEXT : ENUM, schema, path);
            }
            if (type instanceof BinaryType && octets && logical == null) {
                return new Part(BINARY, schema, path);
            }
            if (type instanceof DecimalType && octets && logical instanceof LogicalTypes.Decimal) {
                LogicalTypes.Decimal into = (LogicalTypes.Decimal) logical;
                DecimalType from = (DecimalType) type;
                if (from.scale() <= into.getScale() && from.precision() - from.scale() <= into.getPrecision() - into.getScale()) {
                    return new Part(DECIMAL, schema, path);
                }
            }
            boolean millis = logical instanceof LogicalTypes.TimestampMillis;
            if (type instanceof TimestampType && isLong && (millis || logical instanceof LogicalTypes.TimestampMicros)) {
                return new Part(millis ? MILLIS : LONG, schema, path);
            }
            boolean localMillis = logical instanceof LogicalTypes.LocalTimestampMillis;
            if (type instanceof TimestampNTZType && isLong && (localMillis || logical instanceof LogicalTypes.LocalTimestampMicros)) {
                return new Part(localMillis ? MILLIS : LONG, schema, path);
            }
            if (type instanceof ArrayType && avro == Schema.Type.ARRAY) {
                Part array = new Part(ARRAY, schema, path);
                array.parts = new Part[] {of(schema.getElementType(), ((ArrayType) type).elementType(), path + "[]")};
                return array;
            }
            if (type instanceof MapType && avro == Schema.Type.MAP && ((MapType) type).keyType() instanceof StringType) {
                Part map = new Part(MAP, schema, path);
                map.parts = new Part[] {of(schema.getValueType(), ((MapType) type).valueType(), path + "{}")};
                return map;
            }
            if (type instanceof StructType && avro == Schema.Type.RECORD) {
                return row(schema, (StructType) type, path);
            }
            String is = logical == null ? avro.getName() : logical.getName();
            String field = path.length() == 0 ? "the record" : "field " + path;
            throw new MisfitException(field + " is " + is + ", the column " + type.simpleString());
        }

        private static Part row(Schema schema, StructType type, String path) {
            List fields = schema.getFields();
            Part row = new Part(ROW, schema, path);
            row.parts = new Part[fields.size()];
            row.places = new int[fields.size()];
            List names = new ArrayList(Arrays.asList(type.fieldNames()));
            StructField[] columns = type.fields();
            for (int number = 0; number < row.parts.length; number++) {
                Schema.Field field = (Schema.Field) fields.get(number);
                String name = path.length() == 0 ? field.name() : path + "." + field.name();
                row.places[number] = Arrays.asList(type.fieldNames()).indexOf(field.name());
                names.remove(field.name());
                if (row.places[number] >= 0) {
                    row.parts[number] = of(field.schema(), columns[row.places[number]].dataType(), name);
                } else if (!field.hasDefaultValue()) {
                    throw new MisfitException("field " + name + " has no default, and there is no column for it");
                }
            }
            if (!names.isEmpty()) {
                String where = path.length() == 0 ? "" : " of " + path;
                throw new MisfitException("it has no field for column " + String.join(", ", names) + where);
            }
            return row;
        }

        void write(Object value, BinaryEncoder out) throws IOException {
            if (value == null) {
                if (this.nullPlace < 0) {
                    throw new IllegalArgumentException("A null has no place in the schema of Avro: field " + this.path + " takes none.");
                }
                out.writeIndex(this.nullPlace);
                return;
            }
            if (this.valuePlace >= 0) {
                out.writeIndex(this.valuePlace);
            }
            switch (this.kind) {
            case BOOLEAN:
                out.writeBoolean(((Boolean) value).booleanValue());
                break;
            case INT:
                out.writeInt(((Number) value).intValue());
                break;
            case LONG:
                out.writeLong(((Number) value).longValue());
                break;
            case MILLIS:
                out.writeLong(Math.floorDiv(((Number) value).longValue(), 1000L));
                break;
            case FLOAT:
                out.writeFloat(((Number) value).floatValue());
                break;
            case DOUBLE:
                out.writeDouble(((Number) value).doubleValue());
                break;
            case TEXT:
                out.writeString((String) value);
                break;
            case ENUM:
                if (!this.schema.hasEnumSymbol((String) value)) {
                    throw new IllegalArgumentException("'" + value + "' is no symbol of field " + this.path + " in the schema of Avro.");
                }
                out.writeEnum(this.schema.getEnumOrdinal((String) value));
                break;
            case BINARY:
                this.octets((byte[]) value, out);
                break;
            case DECIMAL:
                int scale = ((LogicalTypes.Decimal) this.schema.getLogicalType()).getScale();
                this.number(((BigDecimal) value).setScale(scale).unscaledValue().toByteArray(), out);
                break;
            case ARRAY:
                scala.collection.Seq items = (scala.collection.Seq) value;
                out.writeArrayStart();
                out.setItemCount((long) items.size());
                for (scala.collection.Iterator all = items.iterator(); all.hasNext(); ) {
                    out.startItem();
                    this.parts[0].write(all.next(), out);
                }
                out.writeArrayEnd();
                break;
            case MAP:
                scala.collection.Map pairs = (scala.collection.Map) value;
                out.writeMapStart();
                out.setItemCount((long) pairs.size());
                for (scala.collection.Iterator all = pairs.iterator(); all.hasNext(); ) {
                    Tuple2 pair = (Tuple2) all.next();
                    out.startItem();
                    out.writeString((String) pair._1());
                    this.parts[0].write(pair._2(), out);
                }
                out.writeMapEnd();
                break;
            default:
                this.fields((Row) value, out);
            }
        }

        private void fields(Row row, BinaryEncoder out) throws IOException {
            for (int number = 0; number < this.parts.length; number++) {
                if (this.parts[number] != null) {
                    this.parts[number].write(row.get(this.places[number]), out);
                } else {
                    Schema.Field field = (Schema.Field) this.schema.getFields().get(number);
                    new GenericDatumWriter(field.schema()).write(GenericData.get().getDefaultValue(field), out);
                }
            }
        }

        private void octets(byte[] value, BinaryEncoder out) throws IOException {
            if (this.schema.getType() == Schema.Type.BYTES) {
                out.writeBytes(value);
                return;
            }
            if (value.length != this.schema.getFixedSize()) {
                throw new IllegalArgumentException(
                    value.length + " bytes are no value of field " + this.path + ", which has " + this.schema.getFixedSize() + "."
                );
            }
            out.writeFixed(value);
        }

        /** The bytes of a whole number. In a field of a fixed size its sign goes on before them. */
        private void number(byte[] value, BinaryEncoder out) throws IOException {
            if (this.schema.getType() == Schema.Type.BYTES) {
                out.writeBytes(value);
                return;
            }
            byte[] whole = new byte[this.schema.getFixedSize()];
            Arrays.fill(whole, value[0] < 0 ? (byte) -1 : (byte) 0);
            System.arraycopy(value, 0, whole, whole.length - value.length, value.length);
            out.writeFixed(whole);
        }
    }
}
