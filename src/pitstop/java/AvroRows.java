import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.net.ssl.SSLHandshakeException;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.Decoder;
import org.apache.avro.util.Utf8;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function from the bytes of an Avro record to a row of columns, or to the reason why they are none: (row, reason).
 *
 * Apache Avro's own reader decodes, by the schema with which a value was written. Schemas are looked up by their id while the
 * function runs, once in each Java: in a registry, or in a folder. A registry that is away is an error, and so is an id that has no
 * schema yet: a reason has to be the same whenever a value is read, and these may be otherwise a moment later.
 */
public final class AvroRows implements UDF1, Serializable {
    private static final long serialVersionUID = 1L;
    private static final int TIMEOUT_MS = 3000;
    private static final int ATTEMPTS = 3;
    private static final int PAUSE_MS = 500;
    private static final int MOST_BYTES = 16 << 20;
    private static final int MOST_RUNS = 64;
    private static final Map RUNS = new HashMap();
    private static final GenericData PLAIN = new GenericData();

    private final String registry;
    private final String authorization;
    private final String folder;
    private final String writer;
    private final String reader;
    private final String topics;
    private final String run;
    private final StructType columns;
    private transient Map readings;

    /**
     * @param registry the URL of a registry, without user and password; null: none
     * @param authorization the header by which it is signed in to; null: none
     * @param folder a folder with a file ID.avsc for each schema; null: none
     * @param writer the schema of all values, which then have no id before them; null: values begin with 0 and four bytes of an id
     * @param reader the schema into which Avro resolves that of the writer; null: fields of the writer become columns by their names
     * @param topics the topics of the values, in words, for errors
     * @param run a name under which schemas are kept, so that a later run asks anew
     * @param columns the columns of a row
     */
    public AvroRows(
        String registry, String authorization, String folder, String writer, String reader, String topics, String run,
        StructType columns
    ) {
        this.registry = registry;
        this.authorization = authorization;
        this.folder = folder;
        this.writer = writer;
        this.reader = reader;
        this.topics = topics;
        this.run = run;
        this.columns = columns;
    }

    /** This function of a column. */
    public Column of(Column value) {
        StructType answer = new StructType().add("row", this.columns, true).add("reason", "string", true);
        return functions.udf((UDF1) this, answer).apply(new Column[] {value});
    }

    public Object call(Object value) throws Exception {
        byte[] bytes = (byte[]) value;
        if (bytes == null) {
            return bad("The value is null, a tombstone.");
        }
        if (this.writer != null) {
            return this.reading(null).row(bytes, 0);
        }
        if (bytes.length == 0) {
            return bad("The value is empty.");
        }
        if (bytes[0] != 0) {
            return bad("The value begins with the byte " + (bytes[0] & 0xff) + ", and not with 0 and the id of a schema.");
        }
        if (bytes.length < 5) {
            return bad("The value ends before the id of its schema.");
        }
        return this.reading(Integer.valueOf(ByteBuffer.wrap(bytes).getInt(1))).row(bytes, 5);
    }

    private static Row bad(String reason) {
        return RowFactory.create(new Object[] {null, reason});
    }

    /** How values of a schema are read: by one thread, for the function belongs to one task. */
    private Reading reading(Integer id) throws Exception {
        if (this.readings == null) {
            this.readings = new HashMap();
        }
        Reading reading = (Reading) this.readings.get(id);
        if (reading == null) {
            reading = id == null ? this.reading("the given schema", this.given()) : this.reading("schema " + id, this.known(id));
            this.readings.put(id, reading);
        }
        return reading;
    }

    private Reading reading(String name, Object schema) {
        if (schema instanceof Foreign) {
            return new Reading(name, null, null, ((Foreign) schema).reason);
        }
        try {
            Schema written = (Schema) schema;
            if (this.reader != null) {
                Schema into = parser().parse(this.reader);
                Convert convert = Convert.to(Schema.applyAliases(written, into), into, this.columns, "");
                return new Reading(name, new GenericDatumReader(written, into, PLAIN), convert, null);
            }
            if (written.getType() != Schema.Type.RECORD) {
                throw new MisfitException("it is " + named(written) + ", and no record");
            }
            Schema part = part(written, this.columns);
            return new Reading(name, new GenericDatumReader(written, part, PLAIN), Convert.to(null, part, this.columns, ""), null);
        } catch (MisfitException error) {
            return new Reading(name, null, null, "The value is of " + name + ", which does not fit: " + error.getMessage() + ".");
        }
    }

    private Schema given() {
        return parser().parse(this.writer);
    }

    /** A record with those fields alone that are columns: Avro skips the others. */
    private static Schema part(Schema written, StructType columns) {
        List fields = new ArrayList();
        for (Iterator all = written.getFields().iterator(); all.hasNext(); ) {
            Schema.Field field = (Schema.Field) all.next();
            if (columns.getFieldIndex(field.name()).isDefined()) {
                fields.add(new Schema.Field(field.name(), field.schema()));
            }
        }
        if (fields.isEmpty()) {
            throw new MisfitException("none of its fields is a column");
        }
        Schema part = Schema.createRecord(written.getName(), null, written.getNamespace(), false);
        part.setFields(fields);
        return part;
    }

    private static Schema.Parser parser() {
        return new Schema.Parser(NameValidator.NO_VALIDATION).setValidateDefaults(false);
    }

    /** The schema of an id, or a Foreign. One thread asks, the others wait for what it finds. */
    private Object known(Integer id) throws Exception {
        Map schemas;
        synchronized (RUNS) {
            if (!RUNS.containsKey(this.run) && RUNS.size() >= MOST_RUNS) {
                RUNS.clear();
            }
            schemas = (Map) RUNS.get(this.run);
            if (schemas == null) {
                schemas = new HashMap();
                RUNS.put(this.run, schemas);
            }
        }
        synchronized (schemas) {
            Object schema = schemas.get(id);
            if (schema == null) {
                schema = this.registry != null ? this.registered(id) : this.filed(id);
                schemas.put(id, schema);
            }
            return schema;
        }
    }

    private Object filed(Integer id) throws Exception {
        File file = new File(this.folder, id + ".avsc");
        String text;
        try {
            text = new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
        } catch (NoSuchFileException error) {
            if (!file.getParentFile().isDirectory()) {
                throw new ConnectException("The schema folder " + this.folder + " is not there.");
            }
            throw new UnknownIdException(
                "The schema folder " + this.folder + " has no file " + id + ".avsc, for a message of " + this.topics
                    + ": put the schema there, or lead the job past the message by --seek."
            );
        }
        try {
            return parser().parse(text);
        } catch (AvroRuntimeException error) {
            throw new IllegalStateException("The file " + file + " is no schema of Avro: " + error.getMessage());
        }
    }

    private Object registered(Integer id) throws Exception {
        Map answer = this.ask("/schemas/ids/" + id);
        if (answer == null) {
            throw new UnknownIdException(
                "The schema registry " + this.registry + " knows no schema " + id + ", for a message of " + this.topics
                    + ": register the schema, or lead the job past the message by --seek."
            );
        }
        String type = answer.get("schemaType") == null ? "AVRO" : answer.get("schemaType").toString();
        if (!type.equals("AVRO")) {
            return new Foreign("The value is of schema " + id + ", which is " + type + " and not Avro.");
        }
        if (answer.get("schema") == null) {
            throw new IllegalStateException(
                "The schema registry " + this.registry + " answers without a schema to /schemas/ids/" + id + ": see its address."
            );
        }
        try {
            Schema.Parser parser = parser();
            this.parseReferences(answer, parser, new HashSet());
            return parser.parse(String.valueOf(answer.get("schema")));
        } catch (AvroRuntimeException error) {
            throw new IllegalStateException("Schema " + id + " of the schema registry is no schema of Avro: " + error.getMessage());
        }
    }

    /** Parse the schemas to which one refers, those that they refer to first. */
    private void parseReferences(Map answer, Schema.Parser parser, Set done) throws Exception {
        if (answer.get("references") == null) {
            return;
        }
        for (Iterator all = ((List) answer.get("references")).iterator(); all.hasNext(); ) {
            Map reference = (Map) all.next();
            String subject = reference.get("subject").toString();
            String path = "/subjects/" + URLEncoder.encode(subject, "UTF-8").replace("+", "%20") + "/versions/"
                + reference.get("version");
            if (!done.add(path)) {
                continue;
            }
            Map other = this.ask(path);
            if (other == null) {
                throw new IllegalStateException("The schema registry has no " + path + ", to which a schema refers.");
            }
            this.parseReferences(other, parser, done);
            parser.parse(String.valueOf(other.get("schema")));
        }
    }

    /** What the registry answers; null if it says that it has no such schema. ConnectException if it is away. */
    private Map ask(String path) throws Exception {
        boolean unknown = false;
        for (int attempt = 1; ; attempt++) {
            String why;
            HttpURLConnection connection = (HttpURLConnection) new URL(this.registry + path).openConnection();
            try {
                connection.setConnectTimeout(TIMEOUT_MS);
                connection.setReadTimeout(TIMEOUT_MS);
                // Another host must not get the password.
                connection.setInstanceFollowRedirects(false);
                connection.setRequestProperty("Accept", "application/vnd.schemaregistry.v1+json, application/json");
                if (this.authorization != null) {
                    connection.setRequestProperty("Authorization", this.authorization);
                }
                int status = connection.getResponseCode();
                InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream();
                byte[] content = body == null ? new byte[0] : whole(body);
                if (status == 200) {
                    Map answer = object(content);
                    if (answer == null) {
                        throw new IllegalStateException("The schema registry " + this.registry + " answers " + path
                            + " with what is no JSON object, as another server does: see its address.");
                    }
                    return answer;
                }
                int code = code(content);
                if (status == 404 && code >= 40401 && code <= 40403) {
                    if (unknown) {
                        return null;
                    }
                    // A second look: a registry of several nodes may know a new schema a moment later.
                    unknown = true;
                    Thread.sleep(PAUSE_MS);
                    continue;
                }
                if (status < 500 && status != 408 && status != 425 && status != 429) {
                    throw new IllegalStateException("The schema registry " + this.registry + " answers " + status + " to " + path
                        + ": see its address, and the user and password in it.");
                }
                why = "it answers " + status;
            } catch (SSLHandshakeException error) {
                throw new IllegalStateException("The schema registry " + this.registry + " is not trusted: " + error.getMessage());
            } catch (IOException error) {
                why = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
            } finally {
                connection.disconnect();
            }
            if (attempt >= ATTEMPTS) {
                throw new ConnectException("The schema registry " + this.registry + " is away (" + why.split("\n")[0] + ").");
            }
            Thread.sleep(PAUSE_MS);
        }
    }

    private static byte[] whole(InputStream body) throws IOException {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        byte[] part = new byte[8192];
        for (int count = body.read(part); count >= 0; count = body.read(part)) {
            content.write(part, 0, count);
            if (content.size() > MOST_BYTES) {
                throw new IllegalStateException("The schema registry answers with more than 16 MiB.");
            }
        }
        return content.toByteArray();
    }

    private static int code(byte[] content) {
        Map answer = object(content);
        Object code = answer == null ? null : answer.get("error_code");
        return code instanceof Number ? ((Number) code).intValue() : 0;
    }

    /** An object of JSON; null if the bytes are none. */
    private static Map object(byte[] content) {
        try {
            return (Map) new ObjectMapper().readValue(content, Map.class);
        } catch (IOException error) {
            return null;
        }
    }

    private static String named(Schema schema) {
        LogicalType logical = logicalOf(schema);
        if (logical instanceof LogicalTypes.Decimal) {
            LogicalTypes.Decimal decimal = (LogicalTypes.Decimal) logical;
            return "decimal(" + decimal.getPrecision() + "," + decimal.getScale() + ")";
        }
        return logical != null ? logical.getName() : schema.getType().getName();
    }

    /** The logical type of a schema; null: none. Avro keeps that of a type it has given the name of an alias among the properties. */
    private static LogicalType logicalOf(Schema schema) {
        LogicalType logical = schema.getLogicalType();
        return logical != null ? logical : LogicalTypes.fromSchemaIgnoreInvalid(schema);
    }

    /** A schema that is not of Avro, for ever: the schema of an id does not change. */
    static final class Foreign {
        final String reason;

        Foreign(String reason) {
            this.reason = reason;
        }
    }

    /** An id that has no schema yet. */
    static final class UnknownIdException extends IOException {
        UnknownIdException(String message) {
            super(message);
        }
    }

    /** A schema that has no place in the columns. */
    static final class MisfitException extends RuntimeException {
        MisfitException(String message) {
            super(message);
        }
    }

    /** How values of one schema become rows. */
    static final class Reading {
        private final String name;
        private final GenericDatumReader reader;
        private final Convert convert;
        private final String problem;
        private final Bytes bytes;

        Reading(String name, GenericDatumReader reader, Convert convert, String problem) {
            this.name = name;
            this.reader = reader;
            this.convert = convert;
            this.problem = problem;
            this.bytes = new Bytes();
        }

        Row row(byte[] value, int from) {
            if (this.problem != null) {
                return bad(this.problem);
            }
            try {
                this.bytes.begin(value, from);
                Object row = this.convert.of(this.reader.read(null, this.bytes));
                int left = this.bytes.left();
                if (left > 0) {
                    return bad((left == 1 ? "1 byte is" : left + " bytes are") + " left behind the record of " + this.name + ".");
                }
                return RowFactory.create(new Object[] {row, null});
            } catch (EOFException error) {
                return bad("The value ends within the record of " + this.name + ".");
            } catch (IOException error) {
                return this.bad(error);
            } catch (RuntimeException error) {
                return this.bad(error);
            } catch (StackOverflowError error) {
                return bad("The value is nested too deep for " + this.name + ".");
            }
        }

        private Row bad(Exception error) {
            String why = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage().split("\n")[0];
            return AvroRows.bad("The value is no record of " + this.name + ": " + why + ".");
        }

        private static Row bad(String reason) {
            return AvroRows.bad(reason);
        }
    }

    /** How a value of Avro becomes one of a column. */
    static final class Convert {
        private static final int SAME = 0;
        private static final int LONG = 1;
        private static final int FLOAT = 2;
        private static final int DOUBLE = 3;
        private static final int TEXT = 4;
        private static final int BINARY = 5;
        private static final int DATE = 6;
        private static final int MOMENT = 7;
        private static final int LOCAL = 8;
        private static final int DECIMAL = 9;
        private static final int ARRAY = 10;
        private static final int MAP = 11;
        private static final int ROW = 12;
        private static final int UNION = 13;

        private final int kind;
        private final Schema schema;
        private final DataType type;
        private final Convert[] parts;
        private final String[] problems;
        private final int[] places;
        private final long unit;

        private Convert(int kind, Schema schema, DataType type, Convert[] parts, String[] problems, int[] places, long unit) {
            this.kind = kind;
            this.schema = schema;
            this.type = type;
            this.parts = parts;
            this.problems = problems;
            this.places = places;
            this.unit = unit;
        }

        private static Convert plain(int kind, Schema schema, DataType type) {
            return new Convert(kind, schema, type, null, null, null, 0L);
        }

        /**
         * @param written the schema of the writer, with the names of the reader; null: no other than that of the reader. Avro does not
         *     look at logical types when it resolves one into the other: a number or the bytes of a decimal stay as they were written
         * @param schema the schema of the reader, of which the values are that Avro gives
         */
        static Convert to(Schema written, Schema schema, DataType type, String path) {
            Schema.Type avro = schema.getType();
            if (avro == Schema.Type.UNION) {
                return toUnion(written, schema, type, path);
            }
            if (written != null && written.getType() == Schema.Type.UNION) {
                return fromUnion(written, schema, type, path);
            }
            if (written != null && !becomes(written.getType(), avro)) {
                written = null; // Avro refuses each value
            }
            check(written, schema, path);
            boolean integer = avro == Schema.Type.INT;
            boolean whole = integer || avro == Schema.Type.LONG;
            boolean octets = avro == Schema.Type.BYTES || avro == Schema.Type.FIXED;
            LogicalType logical = logicalOf(written == null ? schema : written);
            if (type instanceof IntegerType && integer || type instanceof BooleanType && avro == Schema.Type.BOOLEAN) {
                return plain(SAME, schema, type);
            }
            if (type instanceof LongType && whole) {
                return plain(LONG, schema, type);
            }
            if (type instanceof FloatType && (whole || avro == Schema.Type.FLOAT)) {
                return plain(FLOAT, schema, type);
            }
            if (type instanceof DoubleType && (whole || avro == Schema.Type.FLOAT || avro == Schema.Type.DOUBLE)) {
                return plain(DOUBLE, schema, type);
            }
            if (type instanceof DecimalType && logical instanceof LogicalTypes.Decimal) {
                LogicalTypes.Decimal from = (LogicalTypes.Decimal) logical;
                DecimalType into = (DecimalType) type;
                if (from.getScale() <= into.scale() && from.getPrecision() - from.getScale() <= into.precision() - into.scale()) {
                    return new Convert(DECIMAL, schema, type, null, null, null, from.getScale());
                }
            }
            // A decimal is no text and no bytes, though Avro keeps it as bytes.
            boolean text = avro == Schema.Type.STRING || avro == Schema.Type.ENUM || avro == Schema.Type.BYTES && logical == null;
            if (type instanceof StringType && text) {
                return plain(TEXT, schema, type);
            }
            if (type instanceof BinaryType && (octets || avro == Schema.Type.STRING)) {
                return plain(BINARY, schema, type);
            }
            if (type instanceof DateType && integer && logical instanceof LogicalTypes.Date) {
                return plain(DATE, schema, type);
            }
            if (type instanceof TimestampType && whole) {
                if (logical instanceof LogicalTypes.TimestampMillis) {
                    return new Convert(MOMENT, schema, type, null, null, null, 1000L);
                }
                if (logical instanceof LogicalTypes.TimestampMicros) {
                    return new Convert(MOMENT, schema, type, null, null, null, 1L);
                }
            }
            if (type instanceof TimestampNTZType && whole) {
                if (logical instanceof LogicalTypes.LocalTimestampMillis) {
                    return new Convert(LOCAL, schema, type, null, null, null, 1000L);
                }
                if (logical instanceof LogicalTypes.LocalTimestampMicros) {
                    return new Convert(LOCAL, schema, type, null, null, null, 1L);
                }
            }
            if (type instanceof ArrayType && avro == Schema.Type.ARRAY) {
                Schema items = written == null ? null : written.getElementType();
                Convert item = to(items, schema.getElementType(), ((ArrayType) type).elementType(), path + "[]");
                return new Convert(ARRAY, schema, type, new Convert[] {item}, null, null, 0L);
            }
            if (type instanceof MapType && avro == Schema.Type.MAP && ((MapType) type).keyType() instanceof StringType) {
                Schema values = written == null ? null : written.getValueType();
                Convert value = to(values, schema.getValueType(), ((MapType) type).valueType(), path + "{}");
                return new Convert(MAP, schema, type, new Convert[] {value}, null, null, 0L);
            }
            if (type instanceof StructType && avro == Schema.Type.RECORD) {
                return toRow(written, schema, (StructType) type, path);
            }
            String is = named(written == null ? schema : written);
            throw new MisfitException(field(path) + " is " + is + ", the column " + type.simpleString());
        }

        private static String field(String path) {
            return "field " + (path.length() == 0 ? "of the record" : path);
        }

        /** Refuse a value whose number or bytes mean another thing in the schema of the reader. Units and scales are converted. */
        private static void check(Schema written, Schema schema, String path) {
            LogicalType into = logicalOf(schema);
            if (written == null || into == null || into.getName().equals("uuid")) {
                return;
            }
            LogicalType from = logicalOf(written);
            if (from == null || !kind(from).equals(kind(into))) {
                throw new MisfitException(field(path) + " is " + named(written) + ", in the schema of the reader " + named(schema));
            }
        }

        /** Logical types of one kind differ in unit or scale alone, and can be converted. */
        private static String kind(LogicalType logical) {
            if (logical instanceof LogicalTypes.TimestampMillis || logical instanceof LogicalTypes.TimestampMicros) {
                return "timestamp";
            }
            if (logical instanceof LogicalTypes.LocalTimestampMillis || logical instanceof LogicalTypes.LocalTimestampMicros) {
                return "local-timestamp";
            }
            return logical.getName();
        }

        /** True if Avro resolves values of one type into the other. */
        private static boolean becomes(Schema.Type from, Schema.Type into) {
            switch (into) {
            case LONG:
                return from == into || from == Schema.Type.INT;
            case FLOAT:
                return from == into || from == Schema.Type.INT || from == Schema.Type.LONG;
            case DOUBLE:
                return from == into || from == Schema.Type.INT || from == Schema.Type.LONG || from == Schema.Type.FLOAT;
            case STRING:
                return from == into || from == Schema.Type.BYTES;
            case BYTES:
                return from == into || from == Schema.Type.STRING;
            default:
                return from == into;
            }
        }

        /** Values do not tell of which type of a union they were written: all that Avro takes must be converted alike. */
        private static Convert fromUnion(Schema written, Schema schema, DataType type, String path) {
            Convert first = null;
            for (Iterator all = written.getTypes().iterator(); all.hasNext(); ) {
                Schema one = (Schema) all.next();
                if (!becomes(one.getType(), schema.getType())) {
                    continue;
                }
                Convert convert = to(one, schema, type, path);
                if (first != null && !first.equalTo(convert)) {
                    throw new MisfitException(field(path) + " is a union of types with several units or scales");
                }
                first = convert;
            }
            return first == null ? to(null, schema, type, path) : first;
        }

        private boolean equalTo(Convert other) {
            if (this.kind != other.kind || this.unit != other.unit || !Arrays.equals(this.places, other.places)) {
                return false;
            }
            for (int number = 0; this.parts != null && number < this.parts.length; number++) {
                Convert part = this.parts[number];
                Convert others = other.parts[number];
                if (part == null ? others != null : others == null || !part.equalTo(others)) {
                    return false;
                }
            }
            return true;
        }

        private static Convert toRow(Schema written, Schema schema, StructType type, String path) {
            StructField[] fields = type.fields();
            Convert[] parts = new Convert[fields.length];
            int[] places = new int[fields.length];
            for (int number = 0; number < fields.length; number++) {
                Schema.Field field = schema.getField(fields[number].name());
                places[number] = field == null ? -1 : field.pos();
                if (field != null) {
                    String name = path.length() == 0 ? field.name() : path + "." + field.name();
                    // A field that the writer does not have is the default of the reader, in its own unit.
                    Schema.Field before = written == null ? null : written.getField(field.name());
                    parts[number] = to(before == null ? null : before.schema(), field.schema(), fields[number].dataType(), name);
                }
            }
            return new Convert(ROW, schema, type, parts, null, places, 0L);
        }

        /** A union of null and one other type is that type. Of several, a value of each that fits is taken. */
        private static Convert toUnion(Schema written, Schema schema, DataType type, String path) {
            List types = schema.getTypes();
            Convert[] parts = new Convert[types.size()];
            String[] problems = new String[types.size()];
            Convert only = null;
            MisfitException misfit = null;
            int others = 0;
            int fitting = 0;
            for (int number = 0; number < parts.length; number++) {
                Schema one = (Schema) types.get(number);
                if (one.getType() == Schema.Type.NULL) {
                    continue;
                }
                others++;
                try {
                    only = parts[number] = to(written, one, type, path);
                    fitting++;
                } catch (MisfitException error) {
                    misfit = error;
                    problems[number] = error.getMessage();
                }
            }
            if (fitting == 0 && misfit != null) {
                throw misfit;
            }
            if (others == 1) {
                return only;
            }
            return new Convert(UNION, schema, type, parts, problems, null, 0L);
        }

        Object of(Object value) {
            if (value == null) {
                return null;
            }
            switch (this.kind) {
            case LONG:
                return value instanceof Long ? value : Long.valueOf(((Number) value).longValue());
            case FLOAT:
                return value instanceof Float ? value : Float.valueOf(((Number) value).floatValue());
            case DOUBLE:
                return value instanceof Double ? value : Double.valueOf(((Number) value).doubleValue());
            case TEXT:
                return text(value);
            case BINARY:
                return octets(value);
            case DATE:
                return LocalDate.ofEpochDay(((Integer) value).longValue());
            case MOMENT:
                long at = Math.multiplyExact(((Number) value).longValue(), this.unit);
                return Instant.ofEpochSecond(Math.floorDiv(at, 1000000L), Math.floorMod(at, 1000000L) * 1000L);
            case LOCAL:
                long local = Math.multiplyExact(((Number) value).longValue(), this.unit);
                int nanos = (int) (Math.floorMod(local, 1000000L) * 1000L);
                return LocalDateTime.ofEpochSecond(Math.floorDiv(local, 1000000L), nanos, ZoneOffset.UTC);
            case DECIMAL:
                return this.decimal(new BigDecimal(new BigInteger(octets(value)), (int) this.unit));
            case ARRAY:
                return this.array((List) value);
            case MAP:
                return this.map((Map) value);
            case ROW:
                return this.row((IndexedRecord) value);
            case UNION:
                int branch = PLAIN.resolveUnion(this.schema, value);
                if (this.parts[branch] == null) {
                    throw new IllegalArgumentException(this.problems[branch]);
                }
                return this.parts[branch].of(value);
            default:
                return value;
            }
        }

        private static UTF8String text(Object value) {
            if (value instanceof Utf8 || value instanceof ByteBuffer) {
                UTF8String text = UTF8String.fromBytes(octets(value));
                if (!text.isValid()) {
                    throw new IllegalArgumentException("a text is no UTF-8");
                }
                return text;
            }
            return UTF8String.fromString(value.toString());
        }

        private static byte[] octets(Object value) {
            if (value instanceof ByteBuffer) {
                ByteBuffer buffer = (ByteBuffer) value;
                byte[] copy = new byte[buffer.remaining()];
                ((ByteBuffer) buffer.duplicate()).get(copy);
                return copy;
            }
            if (value instanceof GenericFixed) {
                return ((GenericFixed) value).bytes();
            }
            if (value instanceof Utf8) {
                return Arrays.copyOf(((Utf8) value).getBytes(), ((Utf8) value).getByteLength());
            }
            return value.toString().getBytes(StandardCharsets.UTF_8);
        }

        private BigDecimal decimal(BigDecimal value) {
            DecimalType into = (DecimalType) this.type;
            BigDecimal scaled = value.setScale(into.scale());
            if (scaled.precision() > into.precision()) {
                throw new IllegalArgumentException(value.toPlainString() + " has too many digits for " + into.simpleString());
            }
            return scaled;
        }

        private List array(List items) {
            List values = new ArrayList(items.size());
            for (Iterator all = items.iterator(); all.hasNext(); ) {
                values.add(this.parts[0].of(all.next()));
            }
            return values;
        }

        private Map map(Map pairs) {
            Map values = new HashMap();
            for (Iterator all = pairs.entrySet().iterator(); all.hasNext(); ) {
                Map.Entry pair = (Map.Entry) all.next();
                values.put(text(pair.getKey()), this.parts[0].of(pair.getValue()));
            }
            return values;
        }

        private Row row(IndexedRecord record) {
            Object[] values = new Object[this.parts.length];
            for (int number = 0; number < values.length; number++) {
                values[number] = this.places[number] < 0 ? null : this.parts[number].of(record.get(this.places[number]));
            }
            return RowFactory.create(values);
        }
    }

    /**
     * The bytes of a value. Avro's own decoder makes room for as many bytes as a length says before it looks if they are there,
     * so that a few bad bytes can fill the memory.
     */
    static final class Bytes extends Decoder {
        /** How many items that take no bytes a value may have. */
        private static final int EMPTY_ITEMS = 65536;
        private byte[] buffer;
        private int at;
        private long items;

        void begin(byte[] value, int from) {
            this.buffer = value;
            this.at = from;
            this.items = 0L;
        }

        int left() {
            return this.buffer.length - this.at;
        }

        private int next() throws IOException {
            if (this.at >= this.buffer.length) {
                throw new EOFException();
            }
            return this.buffer[this.at++];
        }

        private int skip(long count) throws IOException {
            if (count < 0L) {
                throw new AvroRuntimeException("a length is negative");
            }
            if (count > (long) this.left()) {
                throw new EOFException();
            }
            int from = this.at;
            this.at += (int) count;
            return from;
        }

        public void readNull() {}

        public boolean readBoolean() throws IOException {
            int value = this.next();
            if (value != 0 && value != 1) {
                throw new AvroRuntimeException("a boolean is " + (value & 0xff));
            }
            return value == 1;
        }

        public int readInt() throws IOException {
            long value = this.readLong();
            if (value < -2147483648L || value > 2147483647L) {
                throw new AvroRuntimeException("an int is " + value);
            }
            return (int) value;
        }

        public long readLong() throws IOException {
            long value = 0L;
            for (int shift = 0; shift < 70; shift += 7) {
                int part = this.next();
                value |= (long) (part & 0x7f) << shift;
                if (part >= 0) {
                    return (value >>> 1) ^ -(value & 1L);
                }
            }
            throw new AvroRuntimeException("a number has more than 10 bytes");
        }

        public float readFloat() throws IOException {
            return Float.intBitsToFloat(Integer.reverseBytes(ByteBuffer.wrap(this.buffer).getInt(this.skip(4L))));
        }

        public double readDouble() throws IOException {
            return Double.longBitsToDouble(Long.reverseBytes(ByteBuffer.wrap(this.buffer).getLong(this.skip(8L))));
        }

        private byte[] octets() throws IOException {
            int from = this.skip(this.readLong());
            return Arrays.copyOfRange(this.buffer, from, this.at);
        }

        public Utf8 readString(Utf8 old) throws IOException {
            return new Utf8(this.octets());
        }

        public String readString() throws IOException {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(this.octets())).toString();
        }

        public void skipString() throws IOException {
            this.skip(this.readLong());
        }

        public ByteBuffer readBytes(ByteBuffer old) throws IOException {
            return ByteBuffer.wrap(this.octets());
        }

        public void skipBytes() throws IOException {
            this.skip(this.readLong());
        }

        public void readFixed(byte[] bytes, int start, int length) throws IOException {
            System.arraycopy(this.buffer, this.skip((long) length), bytes, start, length);
        }

        public void skipFixed(int length) throws IOException {
            this.skip((long) length);
        }

        public int readEnum() throws IOException {
            return this.readInt();
        }

        private long count() throws IOException {
            long count = this.readLong();
            if (count < 0L) {
                this.readLong();
                count = -count;
            }
            this.items += count;
            if (count < 0L || this.items > (long) this.buffer.length + EMPTY_ITEMS) {
                throw new AvroRuntimeException("a list says that it has " + count + " items");
            }
            return count;
        }

        private long skipped() throws IOException {
            long count = this.readLong();
            while (count < 0L) {
                this.skip(this.readLong());
                count = this.readLong();
            }
            this.items += count;
            if (this.items > (long) this.buffer.length + EMPTY_ITEMS) {
                throw new AvroRuntimeException("a list says that it has " + count + " items");
            }
            return count;
        }

        public long readArrayStart() throws IOException {
            return this.count();
        }

        public long arrayNext() throws IOException {
            return this.count();
        }

        public long skipArray() throws IOException {
            return this.skipped();
        }

        public long readMapStart() throws IOException {
            return this.count();
        }

        public long mapNext() throws IOException {
            return this.count();
        }

        public long skipMap() throws IOException {
            return this.skipped();
        }

        public int readIndex() throws IOException {
            return this.readInt();
        }
    }
}
