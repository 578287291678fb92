import java.io.IOException;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import org.sparkproject.connect.protobuf.ByteString;
import org.sparkproject.connect.protobuf.DescriptorProtos;
import org.sparkproject.connect.protobuf.Descriptors;
import org.sparkproject.connect.protobuf.DynamicMessage;
import org.sparkproject.connect.protobuf.Message;

/**
 * A function from the bytes of a Protobuf message to a row of columns, or to the reason why they are none: (row, reason).
 *
 * Google's own parser decodes, as Spark Connect brings it along. A tag of Protobuf is never 0, so a value that begins with 0 has the
 * frame of a schema registry: 0, four bytes of an id, and the place of its message among those of the schema.
 */
public final class ProtobufRows implements UDF1, Serializable {
    private static final long serialVersionUID = 1L;
    private static final int FRAME = 5;
    private static final String WELL_KNOWN = "google.protobuf.";

    private final byte[] descriptors;
    private final String message;
    private final StructType columns;
    private transient Descriptors.Descriptor type;
    private transient Convert convert;

    /**
     * @param descriptors a FileDescriptorSet with all files that the message needs
     * @param message the full name of the message
     * @param columns the columns of a row, each with the name of a field
     */
    public ProtobufRows(byte[] descriptors, String message, StructType columns) {
        this.descriptors = descriptors;
        this.message = message;
        this.columns = columns;
    }

    /** This function of a column. */
    public Column of(Column value) {
        StructType answer = new StructType().add("row", this.columns, true).add("reason", "string", true);
        return functions.udf((UDF1) this, answer).apply(new Column[] {value});
    }

    /** Why no value can be decoded; null if values can be. */
    public String problem() {
        try {
            this.prepare();
            return null;
        } catch (MisfitException error) {
            return error.getMessage();
        } catch (IOException error) {
            return "it is no set of descriptors";
        } catch (Descriptors.DescriptorValidationException error) {
            return "its descriptors do not go together: " + error.getMessage();
        }
    }

    public Object call(Object value) throws Exception {
        byte[] bytes = (byte[]) value;
        if (bytes == null) {
            return bad("The value is null, a tombstone.");
        }
        this.prepare();
        try {
            int from = bytes.length > 0 && bytes[0] == 0 ? this.behindFrame(bytes) : 0;
            byte[] body = from == 0 ? bytes : Arrays.copyOfRange(bytes, from, bytes.length);
            Object row = this.convert.of(DynamicMessage.parseFrom(this.type, body));
            return RowFactory.create(new Object[] {row, null});
        } catch (IOException error) {
            return this.bad(error);
        } catch (RuntimeException error) {
            return this.bad(error);
        } catch (StackOverflowError error) {
            return bad("The value is nested too deep for a message " + this.message + ".");
        }
    }

    private Row bad(Exception error) {
        String why = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage().split("\n")[0];
        return bad("The value is no message " + this.message + ": " + (why.endsWith(".") ? why : why + "."));
    }

    private static Row bad(String reason) {
        return RowFactory.create(new Object[] {null, reason});
    }

    /** Where the message begins behind the frame of a registry. The place of the message is a path of numbers: 0 alone is [0]. */
    private int behindFrame(byte[] bytes) {
        int[] at = new int[] {FRAME};
        if (bytes.length < FRAME) {
            throw new IllegalArgumentException("it ends before the id of its schema");
        }
        int count = (int) zigzag(bytes, at);
        if (count < 0 || count > bytes.length) {
            throw new IllegalArgumentException("it begins with 0, and not with the frame of a schema registry");
        }
        List path = new ArrayList();
        for (int number = 0; number < count; number++) {
            path.add(Integer.valueOf((int) zigzag(bytes, at)));
        }
        if (count == 0) {
            path.add(Integer.valueOf(0));
        }
        List own = new ArrayList();
        for (Descriptors.Descriptor part = this.type; part != null; part = part.getContainingType()) {
            own.add(0, Integer.valueOf(part.getIndex()));
        }
        if (!path.equals(own)) {
            throw new IllegalArgumentException("it is message " + path + " of its schema, and " + this.message + " is " + own);
        }
        return at[0];
    }

    private static long zigzag(byte[] bytes, int[] at) {
        long value = 0L;
        for (int shift = 0; shift < 64; shift += 7) {
            if (at[0] >= bytes.length) {
                throw new IllegalArgumentException("it ends within the frame of a schema registry");
            }
            int part = bytes[at[0]++];
            value |= (long) (part & 0x7f) << shift;
            if (part >= 0) {
                return (value >>> 1) ^ -(value & 1L);
            }
        }
        throw new IllegalArgumentException("it begins with 0, and not with the frame of a schema registry");
    }

    private void prepare() throws IOException, Descriptors.DescriptorValidationException {
        if (this.convert == null) {
            this.type = this.found();
            this.convert = Convert.row(this.type, this.columns, "");
        }
    }

    private Descriptors.Descriptor found() throws IOException, Descriptors.DescriptorValidationException {
        List protos = DescriptorProtos.FileDescriptorSet.parseFrom(this.descriptors).getFileList();
        Map byName = new LinkedHashMap();
        for (Iterator all = protos.iterator(); all.hasNext(); ) {
            DescriptorProtos.FileDescriptorProto proto = (DescriptorProtos.FileDescriptorProto) all.next();
            byName.put(proto.getName(), proto);
        }
        Map files = new HashMap();
        List names = new ArrayList();
        for (Iterator all = byName.keySet().iterator(); all.hasNext(); ) {
            Descriptors.FileDescriptor file = file((String) all.next(), byName, files);
            for (Iterator types = file.getMessageTypes().iterator(); types.hasNext(); ) {
                Descriptors.Descriptor type = named((Descriptors.Descriptor) types.next(), this.message, names);
                if (type != null) {
                    return type;
                }
            }
        }
        String others = names.isEmpty() ? "it has no message" : "it has " + String.join(", ", names);
        throw new MisfitException("it has no message " + this.message + ": " + others);
    }

    private static Descriptors.FileDescriptor file(String name, Map protos, Map files)
        throws Descriptors.DescriptorValidationException {
        Descriptors.FileDescriptor file = (Descriptors.FileDescriptor) files.get(name);
        if (file != null) {
            return file;
        }
        DescriptorProtos.FileDescriptorProto proto = (DescriptorProtos.FileDescriptorProto) protos.get(name);
        if (proto == null) {
            throw new MisfitException("it does not have the file " + name + ": make it by protoc --include_imports");
        }
        Descriptors.FileDescriptor[] needed = new Descriptors.FileDescriptor[proto.getDependencyCount()];
        for (int number = 0; number < needed.length; number++) {
            needed[number] = file(proto.getDependency(number), protos, files);
        }
        file = Descriptors.FileDescriptor.buildFrom(proto, needed);
        files.put(name, file);
        return file;
    }

    /** The message of a name, this one or one within it; null if there is none. Names of others are added. */
    private static Descriptors.Descriptor named(Descriptors.Descriptor type, String name, List names) {
        if (type.getFullName().equals(name)) {
            return type;
        }
        if (!type.getFullName().startsWith(WELL_KNOWN) && !type.getOptions().getMapEntry()) {
            names.add(type.getFullName());
        }
        for (Iterator all = type.getNestedTypes().iterator(); all.hasNext(); ) {
            Descriptors.Descriptor inner = named((Descriptors.Descriptor) all.next(), name, names);
            if (inner != null) {
                return inner;
            }
        }
        return null;
    }

    /** A message, or a column, that has no place in the other. */
    static final class MisfitException extends RuntimeException {
        MisfitException(String message) {
            super(message);
        }
    }

    /** How a value of Protobuf becomes one of a column. */
    static final class Convert {
        private static final int SAME = 0;
        private static final int LONG = 1;
        private static final int UNSIGNED_INT = 2;
        private static final int UNSIGNED_LONG = 3;
        private static final int DECIMAL = 4;
        private static final int UNSIGNED_DECIMAL = 15;
        private static final int DOUBLE = 5;
        private static final int TEXT = 6;
        private static final int BINARY = 7;
        private static final int ENUM_NAME = 8;
        private static final int ENUM_NUMBER = 9;
        private static final int MOMENT = 10;
        private static final int WRAPPED = 11;
        private static final int ARRAY = 12;
        private static final int MAP = 13;
        private static final int ROW = 14;
        private static final long FIRST_SECOND = -62135596800L;
        private static final long LAST_SECOND = 253402300799L;

        private final int kind;
        private final Descriptors.FieldDescriptor[] fields;
        private final Convert[] parts;

        private Convert(int kind, Descriptors.FieldDescriptor[] fields, Convert[] parts) {
            this.kind = kind;
            this.fields = fields;
            this.parts = parts;
        }

        private static Convert plain(int kind) {
            return new Convert(kind, null, null);
        }

        static Convert row(Descriptors.Descriptor message, StructType columns, String path) {
            StructField[] names = columns.fields();
            Descriptors.FieldDescriptor[] fields = new Descriptors.FieldDescriptor[names.length];
            Convert[] parts = new Convert[names.length];
            for (int number = 0; number < names.length; number++) {
                fields[number] = message.findFieldByName(names[number].name());
                String name = path + names[number].name();
                if (fields[number] == null) {
                    throw new MisfitException(
                        "message " + message.getFullName() + " has no field for column " + name + ", it has " + fieldsOf(message)
                    );
                }
                parts[number] = field(fields[number], names[number].dataType(), name);
            }
            return new Convert(ROW, fields, parts);
        }

        private static String fieldsOf(Descriptors.Descriptor message) {
            List names = new ArrayList();
            for (Iterator all = message.getFields().iterator(); all.hasNext(); ) {
                names.add(((Descriptors.FieldDescriptor) all.next()).getName());
            }
            return names.isEmpty() ? "none" : String.join(", ", names);
        }

        private static Convert field(Descriptors.FieldDescriptor field, DataType type, String path) {
            if (field.isMapField() && type instanceof MapType) {
                Descriptors.FieldDescriptor key = field.getMessageType().findFieldByNumber(1);
                Descriptors.FieldDescriptor value = field.getMessageType().findFieldByNumber(2);
                Convert[] parts = new Convert[] {
                    single(key, ((MapType) type).keyType(), path + " (its keys)"),
                    single(value, ((MapType) type).valueType(), path + " (its values)")
                };
                return new Convert(MAP, new Descriptors.FieldDescriptor[] {key, value}, parts);
            }
            if (field.isRepeated() && !field.isMapField() && type instanceof ArrayType) {
                return new Convert(ARRAY, null, new Convert[] {single(field, ((ArrayType) type).elementType(), path + "[]")});
            }
            if (field.isRepeated()) {
                throw misfit(field, field.isMapField() ? "a map" : "repeated", type, path);
            }
            return single(field, type, path);
        }

        private static Convert single(Descriptors.FieldDescriptor field, DataType type, String path) {
            String is = field.getType().toString().toLowerCase();
            boolean unsigned = is.equals("uint32") || is.equals("fixed32") || is.equals("uint64") || is.equals("fixed64");
            switch (field.getJavaType()) {
            case INT:
                if (type instanceof LongType) {
                    return plain(unsigned ? UNSIGNED_INT : LONG);
                }
                if (!unsigned && (type instanceof IntegerType || type instanceof DoubleType)) {
                    return plain(type instanceof IntegerType ? SAME : DOUBLE);
                }
                break;
            case LONG:
                if (type instanceof LongType) {
                    return plain(unsigned ? UNSIGNED_LONG : SAME);
                }
                if (type instanceof DecimalType && ((DecimalType) type).precision() - ((DecimalType) type).scale() >= 20) {
                    return plain(unsigned ? UNSIGNED_DECIMAL : DECIMAL);
                }
                break;
            case FLOAT:
                if (type instanceof FloatType || type instanceof DoubleType) {
                    return plain(type instanceof FloatType ? SAME : DOUBLE);
                }
                break;
            case DOUBLE:
                if (type instanceof DoubleType) {
                    return plain(SAME);
                }
                break;
            case BOOLEAN:
                if (type instanceof BooleanType) {
                    return plain(SAME);
                }
                break;
            case STRING:
                if (type instanceof StringType) {
                    return plain(TEXT);
                }
                break;
            case BYTE_STRING:
                if (type instanceof BinaryType) {
                    return plain(BINARY);
                }
                break;
            case ENUM:
                if (type instanceof StringType || type instanceof IntegerType) {
                    return plain(type instanceof StringType ? ENUM_NAME : ENUM_NUMBER);
                }
                break;
            default:
                return message(field, type, path);
            }
            throw misfit(field, is, type, path);
        }

        private static Convert message(Descriptors.FieldDescriptor field, DataType type, String path) {
            Descriptors.Descriptor message = field.getMessageType();
            String name = message.getFullName();
            if (type instanceof TimestampType && name.equals(WELL_KNOWN + "Timestamp")) {
                Descriptors.FieldDescriptor[] parts = new Descriptors.FieldDescriptor[] {
                    message.findFieldByName("seconds"), message.findFieldByName("nanos")
                };
                return new Convert(MOMENT, parts, null);
            }
            if (type instanceof StructType) {
                return row(message, (StructType) type, path + ".");
            }
            if (name.startsWith(WELL_KNOWN) && name.endsWith("Value") && message.getFields().size() == 1) {
                Descriptors.FieldDescriptor value = message.findFieldByName("value");
                if (value != null) {
                    Convert[] part = new Convert[] {single(value, type, path)};
                    return new Convert(WRAPPED, new Descriptors.FieldDescriptor[] {value}, part);
                }
            }
            throw misfit(field, "the message " + name, type, path);
        }

        private static MisfitException misfit(Descriptors.FieldDescriptor field, String is, DataType type, String path) {
            return new MisfitException("field " + path + " is " + is + ", the column " + type.simpleString());
        }

        Object of(Object value) {
            switch (this.kind) {
            case LONG:
                return Long.valueOf(((Number) value).longValue());
            case UNSIGNED_INT:
                return Long.valueOf(((Number) value).longValue() & 0xffffffffL);
            case UNSIGNED_LONG:
                if (((Long) value).longValue() < 0L) {
                    throw new IllegalArgumentException(Long.toUnsignedString(((Long) value).longValue()) + " is no bigint");
                }
                return value;
            case DECIMAL:
                return BigDecimal.valueOf(((Long) value).longValue());
            case UNSIGNED_DECIMAL:
                return new BigDecimal(new BigInteger(Long.toUnsignedString(((Long) value).longValue())));
            case DOUBLE:
                return Double.valueOf(((Number) value).doubleValue());
            case TEXT:
                return UTF8String.fromString((String) value);
            case BINARY:
                return ((ByteString) value).toByteArray();
            case ENUM_NAME:
                Descriptors.EnumValueDescriptor symbol = (Descriptors.EnumValueDescriptor) value;
                boolean isKnown = symbol.getType().findValueByNumber(symbol.getNumber()) != null;
                return UTF8String.fromString(isKnown ? symbol.getName() : String.valueOf(symbol.getNumber()));
            case ENUM_NUMBER:
                return Integer.valueOf(((Descriptors.EnumValueDescriptor) value).getNumber());
            case MOMENT:
                return this.moment((Message) value);
            case WRAPPED:
                return this.parts[0].of(((Message) value).getField(this.fields[0]));
            case ARRAY:
                List items = new ArrayList();
                for (Iterator all = ((List) value).iterator(); all.hasNext(); ) {
                    items.add(this.parts[0].of(all.next()));
                }
                return items;
            case MAP:
                Map pairs = new LinkedHashMap();
                for (Iterator all = ((List) value).iterator(); all.hasNext(); ) {
                    Message pair = (Message) all.next();
                    Object key = this.parts[0].of(pair.getField(this.fields[0]));
                    pairs.put(key, this.parts[1].of(pair.getField(this.fields[1])));
                }
                return pairs;
            case ROW:
                return this.row((Message) value);
            default:
                return value;
            }
        }

        private Instant moment(Message value) {
            long seconds = ((Long) value.getField(this.fields[0])).longValue();
            int nanos = ((Integer) value.getField(this.fields[1])).intValue();
            if (seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0 || nanos > 999999999) {
                throw new IllegalArgumentException(seconds + " seconds and " + nanos + " nanoseconds are no time of the years 1 to 9999");
            }
            return Instant.ofEpochSecond(seconds, (long) (nanos / 1000 * 1000));
        }

        private Row row(Message message) {
            refuseMisread(message);
            Object[] values = new Object[this.fields.length];
            for (int number = 0; number < values.length; number++) {
                Descriptors.FieldDescriptor field = this.fields[number];
                boolean isMissing = field.hasPresence() && !message.hasField(field);
                values[number] = isMissing ? null : this.parts[number].of(message.getField(field));
            }
            return RowFactory.create(values);
        }

        /** Refuse a message whose parser has passed over a field that it knows: that one has bytes of another type. */
        private static void refuseMisread(Message message) {
            for (Iterator all = message.getUnknownFields().asMap().keySet().iterator(); all.hasNext(); ) {
                Descriptors.FieldDescriptor field = message.getDescriptorForType().findFieldByNumber(((Integer) all.next()).intValue());
                if (field != null) {
                    boolean isEnum = field.getJavaType() == Descriptors.FieldDescriptor.JavaType.ENUM;
                    throw new IllegalArgumentException(
                        "field " + field.getName() + " has " + (isEnum ? "a value that its enum does not have" : "bytes of another type")
                    );
                }
            }
        }
    }
}
