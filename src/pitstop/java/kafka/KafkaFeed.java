import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.execution.streaming.continuous.RateStreamPartitionOffset;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.kafka010.KafkaSourcePartitionOffset;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Spark's reader of Kafka as a source of Pitstop: offsets know their topics, and tell the place where a partition begins; a topic
 * that was made anew, cut, or aged out is told before anything of it is read; epochs keep to their share.
 *
 * Spark's own reader plans and runs the tasks. All that decides where an epoch ends is here.
 *
 * Options: those of Spark's reader, and topics (names with commas) or pattern, start, onLoss, maxRows, and those of the run.
 */
public final class KafkaFeed implements TableProvider {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Logger LOG = LoggerFactory.getLogger("pitstop.source.kafka");
    static final String READER = "org.apache.spark.sql.kafka010.KafkaSourceProvider";

    /** Options that no plan of Spark may show, such as passwords, by the name that the option "kept" has. */
    private static final Map KEPT = new HashMap();

    public static void keep(String name, Map options) {
        synchronized (KEPT) {
            KEPT.put(name, new HashMap(options));
        }
    }

    /** All options, with those that were kept. */
    static CaseInsensitiveStringMap whole(CaseInsensitiveStringMap options) {
        String name = options.get("kept");
        if (name == null) {
            return options;
        }
        Map all = new HashMap(options.asCaseSensitiveMap());
        synchronized (KEPT) {
            Map kept = (Map) KEPT.get(name);
            if (kept == null) {
                throw new IllegalStateException("The options of a source of Kafka are not here: nobody has kept them.");
            }
            all.putAll(kept);
        }
        all.remove("kept");
        all.remove("security");
        return new CaseInsensitiveStringMap(all);
    }

    private static TableProvider reader() {
        try {
            ClassLoader loader = Thread.currentThread().getContextClassLoader();
            return (TableProvider) Class.forName(READER, true, loader).getDeclaredConstructor(new Class[0]).newInstance(new Object[0]);
        } catch (Exception error) {
            throw new RuntimeException(error);
        }
    }

    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return reader().inferSchema(options);
    }

    public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
        return new FeedTable((SupportsRead) reader().getTable(schema, partitioning, properties));
    }

    static final class FeedTable implements SupportsRead {
        private final SupportsRead table;

        FeedTable(SupportsRead table) {
            this.table = table;
        }

        public String name() {
            return "pitstop.kafka";
        }

        public StructType schema() {
            return this.table.schema();
        }

        public Set capabilities() {
            return EnumSet.of(TableCapability.MICRO_BATCH_READ, TableCapability.BATCH_READ);
        }

        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return new FeedScan(this.table.newScanBuilder(whole(options)).build(), options);
        }
    }

    static final class FeedScan implements ScanBuilder, Scan {
        private final Scan scan;
        private final CaseInsensitiveStringMap options;

        FeedScan(Scan scan, CaseInsensitiveStringMap options) {
            this.scan = scan;
            this.options = options;
        }

        public Scan build() {
            return this;
        }

        public StructType readSchema() {
            return this.scan.readSchema();
        }

        public String description() {
            return "pitstop.kafka";
        }

        public Batch toBatch() {
            return this.scan.toBatch();
        }

        public MicroBatchStream toMicroBatchStream(String checkpoint) {
            return new Feed(this.scan.toMicroBatchStream(checkpoint), this.options);
        }
    }

    /**
     * A place in topics: {"cluster": id, "ids": {topic: id}, "at": {topic: {partition: offset}}, "from": {topic: {partition: offset}}}.
     * Of the partitions that the epoch before did not have, "from" has the offset at which this one begins. Older releases did not
     * note the cluster.
     */
    static final class Place extends Offset {
        final TreeMap ids = new TreeMap();
        final TreeMap at = new TreeMap();
        final TreeMap from = new TreeMap();
        /** The id of the cluster; empty: not known. */
        String cluster = "";

        static Place parse(String text) {
            try {
                JsonNode node = (JsonNode) JSON.readTree(text);
                Place place = new Place();
                place.cluster = child(node, "cluster").asText();
                JsonNode ids = child(node, "ids");
                for (Iterator names = ids.fieldNames(); names.hasNext(); ) {
                    String topic = (String) names.next();
                    place.ids.put(topic, child(ids, topic).asText());
                }
                read(child(node, "at"), place.at);
                read(child(node, "from"), place.from);
                return place;
            } catch (IOException error) {
                throw new IllegalArgumentException("This is no place in topics of Kafka: " + text);
            }
        }

        private static void read(JsonNode topics, TreeMap offsets) {
            for (Iterator names = topics.fieldNames(); names.hasNext(); ) {
                String topic = (String) names.next();
                JsonNode partitions = child(topics, topic);
                for (Iterator numbers = partitions.fieldNames(); numbers.hasNext(); ) {
                    String number = (String) numbers.next();
                    offsets.put(new Key(topic, Integer.parseInt(number)), Long.valueOf(child(partitions, number).asLong()));
                }
            }
        }

        private static JsonNode child(JsonNode node, String name) {
            return (JsonNode) node.path(name);
        }

        private static ObjectNode written(TreeMap offsets) {
            ObjectNode topics = JSON.createObjectNode();
            for (Iterator entries = offsets.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                Key key = (Key) entry.getKey();
                ObjectNode partitions = topics.has(key.topic) ? (ObjectNode) (JsonNode) topics.path(key.topic) : topics.putObject(key.topic);
                partitions.put(String.valueOf(key.partition), ((Long) entry.getValue()).longValue());
            }
            return topics;
        }

        /** The place as Spark's reader has it. */
        static String plain(TreeMap offsets) {
            return written(offsets).toString();
        }

        public String json() {
            ObjectNode node = JSON.createObjectNode();
            if (!this.cluster.isEmpty()) {
                node.put("cluster", this.cluster);
            }
            ObjectNode names = node.putObject("ids");
            for (Iterator entries = this.ids.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                names.put((String) entry.getKey(), (String) entry.getValue());
            }
            node.set("at", written(this.at));
            if (!this.from.isEmpty()) {
                node.set("from", written(this.from));
            }
            return node.toString();
        }

        boolean decided() {
            return !this.ids.isEmpty();
        }

        /** The same place, to be changed. */
        Place copy() {
            Place copy = new Place();
            copy.cluster = this.cluster;
            copy.ids.putAll(this.ids);
            copy.at.putAll(this.at);
            copy.from.putAll(this.from);
            return copy;
        }
    }

    /** A partition of a topic, in order. */
    static final class Key implements Comparable {
        final String topic;
        final int partition;

        Key(String topic, int partition) {
            this.topic = topic;
            this.partition = partition;
        }

        public int compareTo(Object other) {
            int order = this.topic.compareTo(((Key) other).topic);
            return order != 0 ? order : this.partition - ((Key) other).partition;
        }

        public boolean equals(Object other) {
            return other instanceof Key && this.compareTo(other) == 0;
        }

        public int hashCode() {
            return this.topic.hashCode() * 31 + this.partition;
        }

        public String toString() {
            return "partition " + this.partition + " of topic '" + this.topic + "'";
        }
    }

    /** What a partition has beyond a place; the most comes first. */
    static final class Share implements Comparable {
        final Key key;
        final long amount;

        Share(Key key, long amount) {
            this.key = key;
            this.amount = amount;
        }

        public int compareTo(Object other) {
            return Long.compare(((Share) other).amount, this.amount);
        }
    }

    /** The feed knows its own limit. */
    static final class OwnLimit implements ReadLimit {}

    static final class Feed implements MicroBatchStream, SupportsAdmissionControl, SupportsRealTimeMode {
        private static final long DESCRIBED_MS = 5000L;
        private static final long IDLE_MS = 50L;
        private static final long AWAY_MS = 2000L;
        private static final long TOLD_MS = 10000L;
        private static final int ANSWER_SECONDS = 10;
        /** The least time between two commits of the group's offsets. */
        private static final long GROUP_MS = 1000L;
        /** The time between two looks for what is not there yet, in an epoch in real time. */
        private static final long ABSENT_MS = 500L;
        /** How long a broker may wait for messages behind the end of an epoch. Kafka's own default is 500. */
        private static final String PROMPT_MS = "10";
        /** An epoch of a backlog may leave this part of its share unread: a fifth. A closer look would cost further requests. */
        private static final long UNREAD_PART = 5L;
        /** The most partitions whose lag is told by name (sources/shared.py). */
        private static final int MOST_PARTS = 100;

        /** What is read -> the last epoch of it, as {start, end}: all readers of a stage, one for each branch, end it at one place. */
        private static final Map DECISIONS = new HashMap();

        private final MicroBatchStream reader;
        private final CaseInsensitiveStringMap options;
        private final String stage;
        private final long maxRows;
        private final String onLoss;
        /** The group of consumers whose offsets are those of the job, for other tools; null: there is none. */
        private final String group;
        private KafkaFuture groupAnswer;
        private Place groupPlace;
        private long groupDue;
        private boolean groupTold;
        /** The place to which epochs are committed: Spark asks from there for the end of the next one. */
        private Place committed;
        private final Map settings = new HashMap();
        private Admin admin;
        private String cluster;
        private TreeMap topics = new TreeMap();
        private long describedAt;
        private long quietUntil;
        private long awaySince;
        private long toldAt;
        private String toldBehind = "";
        /** The moment at which the last epoch of a backlog ended, by the times of messages, and its distance from the one before; in ms. */
        private long alignedAt;
        private long alignedStep;
        private final TreeSet toldTopics = new TreeSet();
        private final TreeSet toldLosses = new TreeSet();
        private final String reading;
        /** The last end that this feed has decided, after a look at the topics. Spark plans an epoch right after its end is known. */
        private String decidedEnd = "";
        private boolean realTime;
        /** Of an epoch in real time: the place where it begins, and the partitions that its tasks read, in their order. */
        private Place begun;
        private List read = new ArrayList();

        Feed(MicroBatchStream reader, CaseInsensitiveStringMap options) {
            this.reader = reader;
            this.options = options;
            this.stage = (String) options.getOrDefault("stage", "kafka");
            this.maxRows = options.getLong("maxRows", 1000000L);
            this.onLoss = (String) options.getOrDefault("onLoss", "fail");
            this.group = options.get("group");
            TreeMap facts = new TreeMap(options.asCaseSensitiveMap());
            facts.remove("gate");
            this.reading = facts.toString();
            for (Iterator entries = whole(options).asCaseSensitiveMap().entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                String name = (String) entry.getKey();
                if (name.toLowerCase().startsWith("kafka.")) {
                    this.settings.put(name.substring(6), entry.getValue());
                }
            }
            this.settings.remove("isolation.level");
            if (!this.settings.containsKey("default.api.timeout.ms") && !this.settings.containsKey("request.timeout.ms")) {
                this.settings.put("default.api.timeout.ms", "5000");
                this.settings.put("request.timeout.ms", "4000");
            }
            this.waitAtGate();
        }

        /** The same as sources/shared.py does for those in Python: an update lets all its sources go at one moment. */
        private void waitAtGate() {
            String gate = this.options.get("gate");
            if (gate == null) {
                return;
            }
            try {
                Path reached = Paths.get(gate + ".reached", new String[0]);
                if (!Files.exists(reached)) {
                    Files.createFile(reached);
                }
                long deadline = System.currentTimeMillis() + 1800000L;
                while (!new File(gate).exists()) {
                    if (System.currentTimeMillis() > deadline) {
                        throw new IllegalStateException("The query was not let go within 1800 seconds.");
                    }
                    Thread.sleep(10L);
                }
            } catch (IOException error) {
                throw new IllegalStateException("Source '" + this.stage + "' cannot write beside its gate: " + error.getMessage());
            } catch (InterruptedException error) {
                throw stopped();
            }
        }

        /** Tell Spark that the query is being stopped, in the way that it does not take for a failure. */
        private static RuntimeException stopped() {
            Thread.currentThread().interrupt();
            return new UncheckedIOException(new InterruptedIOException("the query is stopped"));
        }

        public Offset initialOffset() {
            String start = this.options.get("startOffset");
            return start == null ? new Place() : Place.parse(start);
        }

        public Offset deserializeOffset(String json) {
            return Place.parse(json);
        }

        public ReadLimit getDefaultReadLimit() {
            return new OwnLimit();
        }

        public Offset latestOffset() {
            throw new UnsupportedOperationException("Spark asks with a limit");
        }

        public Offset latestOffset(Offset start, ReadLimit limit) {
            Place from = (Place) start;
            this.committed = from;
            this.tellGroup(false);
            if (this.realTime) {
                return from;  // the tasks tell where the epoch ends
            }
            String[] decision = decisionOf(this.reading);
            // Readers of one stage wait for one another; those of other jobs in this JVM do not, whose brokers may be away.
            synchronized (decision) {
                if (from.json().equals(decision[0])) {
                    return Place.parse(decision[1]);
                }
                Place end = this.decision(from);
                if (end != from) {
                    decision[0] = from.json();
                    decision[1] = end.json();
                    this.decidedEnd = end.json();
                }
                return end;
            }
        }

        private static String[] decisionOf(String reading) {
            synchronized (DECISIONS) {
                String[] decision = (String[]) DECISIONS.get(reading);
                if (decision == null) {
                    decision = new String[] {null, null};
                    DECISIONS.put(reading, decision);
                }
                return decision;
            }
        }

        private Place decision(Place from) {
            long now = System.currentTimeMillis();
            if (now < this.quietUntil) {
                return from;
            }
            try {
                Place end = from.decided() ? this.advanced(from, now) : this.begun(now);
                if (this.toldAt > 0) {
                    LOG.info("Source '" + this.stage + "': the brokers answer again.");
                }
                this.awaySince = this.toldAt = 0L;
                if (end.json().equals(from.json())) {
                    this.quietUntil = now + IDLE_MS;
                    return from;
                }
                return end;
            } catch (InterruptedException error) {
                throw stopped();
            } catch (Exception error) {
                return this.away(from, error, now);
            }
        }

        /** Nothing new for now: brokers that are away are waited for, and told after ten seconds. */
        private Place away(Place from, Exception error, long now) {
            Throwable cause = this.mayPass(error);
            this.describedAt = 0L;
            this.quietUntil = System.currentTimeMillis() + AWAY_MS;
            if (this.awaySince == 0L) {
                this.awaySince = now;
            }
            if (now - this.awaySince >= TOLD_MS && this.toldAt == 0L) {
                this.toldAt = now;
                LOG.warn("Source '" + this.stage + "': no broker of " + this.settings.get("bootstrap.servers") + " has answered for "
                    + (now - this.awaySince) / 1000 + " seconds (" + cause.getMessage() + "). It is waited for.");
            }
            return from;
        }

        /** The cause of an error that passes by itself once brokers are back. Any other one is thrown, in words. */
        private Throwable mayPass(Exception error) {
            Throwable cause = error instanceof ExecutionException && error.getCause() != null ? error.getCause() : error;
            boolean unresolved = cause.getCause() != null && String.valueOf(cause.getCause().getMessage()).contains("No resolvable bootstrap");
            if (cause instanceof RetriableException || cause instanceof java.util.concurrent.TimeoutException || unresolved) {
                return cause;
            }
            if (cause instanceof KafkaException) {
                Throwable root = cause;
                while (root.getCause() != null && root.getCause().getMessage() != null) {
                    root = root.getCause();
                }
                throw new IllegalStateException("Source '" + this.stage + "' cannot read from " + this.settings.get("bootstrap.servers")
                    + ": " + root.getMessage());
            }
            if (error instanceof RuntimeException) {
                throw (RuntimeException) error;
            }
            throw new RuntimeException(cause);
        }

        private Admin admin() {
            if (this.admin == null) {
                this.admin = AdminClient.create(this.settings);
            }
            return this.admin;
        }

        /** The id of the cluster that is read; empty if its brokers have none. */
        private String cluster() throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
            if (this.cluster == null) {
                String id = (String) this.admin().describeCluster().clusterId().get(ANSWER_SECONDS, TimeUnit.SECONDS);
                this.cluster = id == null ? "" : id;
            }
            return this.cluster;
        }

        /** The topics that are there: name -> description. */
        private TreeMap described(long now) throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
            Collection names;
            if (this.options.containsKey("pattern")) {
                Pattern pattern = Pattern.compile(this.options.get("pattern"));
                names = new ArrayList();
                Set all = (Set) this.admin().listTopics().names().get(ANSWER_SECONDS, TimeUnit.SECONDS);
                for (Iterator each = all.iterator(); each.hasNext(); ) {
                    String name = (String) each.next();
                    if (pattern.matcher(name).matches()) {
                        names.add(name);
                    }
                }
            } else {
                names = Arrays.asList((Object[]) this.options.get("topics").split(","));
            }
            TreeMap descriptions = new TreeMap();
            Map answers = this.admin().describeTopics(names).topicNameValues();
            for (Iterator entries = answers.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                try {
                    Object description = ((KafkaFuture) entry.getValue()).get(ANSWER_SECONDS, TimeUnit.SECONDS);
                    descriptions.put(entry.getKey(), description);
                    this.toldTopics.remove(entry.getKey());
                } catch (ExecutionException error) {
                    if (!(error.getCause() instanceof UnknownTopicOrPartitionException)) {
                        throw error;
                    }
                    if (this.toldTopics.add(entry.getKey())) {
                        LOG.warn("Source '" + this.stage + "': there is no topic '" + entry.getKey() + "' (yet). It is waited for.");
                    }
                }
            }
            this.describedAt = now;
            this.topics = descriptions;
            return descriptions;
        }

        private static TreeSet partitions(TreeMap topics) {
            TreeSet keys = new TreeSet();
            for (Iterator all = topics.values().iterator(); all.hasNext(); ) {
                TopicDescription topic = (TopicDescription) all.next();
                for (Iterator each = topic.partitions().iterator(); each.hasNext(); ) {
                    keys.add(new Key(topic.name(), ((TopicPartitionInfo) each.next()).partition()));
                }
            }
            return keys;
        }

        private TreeMap listed(Collection keys, OffsetSpec spec) throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
            TreeMap offsets = new TreeMap();
            if (keys.isEmpty()) {
                return offsets;
            }
            Map request = new HashMap();
            for (Iterator each = keys.iterator(); each.hasNext(); ) {
                Key key = (Key) each.next();
                request.put(new TopicPartition(key.topic, key.partition), spec);
            }
            boolean committed = !"read_uncommitted".equals(this.options.get("kafka.isolation.level"));
            IsolationLevel level = committed ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED;
            ListOffsetsResult answer = this.admin().listOffsets(request, new ListOffsetsOptions(level));
            for (Iterator each = keys.iterator(); each.hasNext(); ) {
                Key key = (Key) each.next();
                KafkaFuture future = answer.partitionResult(new TopicPartition(key.topic, key.partition));
                ListOffsetsResult.ListOffsetsResultInfo info =
                    (ListOffsetsResult.ListOffsetsResultInfo) future.get(ANSWER_SECONDS, TimeUnit.SECONDS);
                offsets.put(key, Long.valueOf(info.offset()));
            }
            return offsets;
        }

        /** Where the stream begins. It is decided once, in an epoch without rows, and written with it. */
        private Place begun(long now) throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
            TreeMap topics = this.described(now);
            if (topics.isEmpty() || (this.options.containsKey("topics") && topics.size() < this.options.get("topics").split(",").length)) {
                return new Place();
            }
            TreeSet keys = partitions(topics);
            TreeMap earliest = this.listed(keys, OffsetSpec.earliest());
            TreeMap latest = this.listed(keys, OffsetSpec.latest());
            String start = (String) this.options.getOrDefault("start", "earliest");
            Place place = new Place();
            place.cluster = this.cluster();
            this.name(place, topics);
            if (start.equals("earliest")) {
                place.at.putAll(earliest);
            } else if (start.equals("latest")) {
                place.at.putAll(latest);
            } else if (start.startsWith("{")) {
                place.at.putAll(earliest);
                this.putAsked(start, place, topics, earliest, latest);
            } else {
                TreeMap later = this.listed(keys, OffsetSpec.forTimestamp(Long.parseLong(start)));
                for (Iterator each = keys.iterator(); each.hasNext(); ) {
                    Key key = (Key) each.next();
                    long offset = ((Long) later.get(key)).longValue();
                    place.at.put(key, offset < 0 ? latest.get(key) : later.get(key));
                }
            }
            return place;
        }

        private void putAsked(String start, Place place, TreeMap topics, TreeMap earliest, TreeMap latest) {
            Place asked = Place.parse("{\"at\": " + start + "}");
            for (Iterator entries = asked.at.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                Key key = (Key) entry.getKey();
                if (!earliest.containsKey(key)) {
                    throw new IllegalStateException("Source '" + this.stage + "' is to start at an offset of " + key + ", which is not there.");
                }
                long offset = ((Long) entry.getValue()).longValue();
                long first = ((Long) earliest.get(key)).longValue();
                long end = ((Long) latest.get(key)).longValue();
                if (offset < first || offset > end) {
                    throw new IllegalStateException("Source '" + this.stage + "' is to start at offset " + offset + " of " + key
                        + ", which has the offsets " + first + " to " + end + ".");
                }
                place.at.put(key, entry.getValue());
            }
        }

        private void name(Place place, TreeMap topics) {
            for (Iterator all = topics.values().iterator(); all.hasNext(); ) {
                TopicDescription topic = (TopicDescription) all.next();
                place.ids.put(topic.name(), topic.topicId().toString());
            }
        }

        /** The end of the next epoch; the same place if there is nothing new. */
        private Place advanced(Place from, long now) throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
            if (now - this.describedAt >= DESCRIBED_MS) {
                this.described(now);
            }
            TreeMap latest;
            try {
                latest = this.listed(partitions(this.topics), OffsetSpec.latest());
            } catch (ExecutionException error) {
                if (!(error.getCause() instanceof UnknownTopicOrPartitionException)) {
                    throw error;
                }
                latest = this.listed(partitions(this.described(now)), OffsetSpec.latest());
            }
            if (!differs(from, latest)) {
                this.tellBehind(from, latest, latest);
                return from;
            }
            // A topic may have been made anew since it was described: its new messages are none of the old one's.
            TreeMap topics = this.described(now);
            TreeSet keys = partitions(topics);
            TreeMap earliest = this.listed(keys, OffsetSpec.earliest());
            latest = this.listed(keys, OffsetSpec.latest());
            TreeMap newest = new TreeMap(latest);
            Place begin = this.checked(from, topics, earliest, latest, this.cluster());
            Place end = this.within(begin, latest);
            this.tellBehind(end, latest, newest);
            return end;
        }

        private static boolean differs(Place from, TreeMap latest) {
            for (Iterator entries = latest.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                if (!entry.getValue().equals(from.at.get(entry.getKey()))) {
                    return true;
                }
            }
            return false;
        }

        /**
         * The places from which partitions go on: as they were, and for new ones their earliest. What is lost is told, or fails, or
         * is waited for, as onLoss says.
         */
        private Place checked(Place from, TreeMap topics, TreeMap earliest, TreeMap latest, String cluster) {
            Place begin = new Place();
            boolean elsewhere = isElsewhere(from, cluster);
            begin.cluster = elsewhere && !this.onLoss.equals("continue") ? from.cluster : cluster;
            begin.ids.putAll(from.ids);
            begin.at.putAll(from.at);
            for (Iterator all = topics.values().iterator(); all.hasNext(); ) {
                TopicDescription topic = (TopicDescription) all.next();
                String id = topic.topicId().toString();
                Object before = from.ids.get(topic.name());
                // Nothing of another cluster is read before it is said that it may be, and new topics of it are none of the first one's.
                boolean newElsewhere = before == null && elsewhere && !this.onLoss.equals("continue");
                if (newElsewhere || before != null && (elsewhere || !before.equals(id))) {
                    String what = elsewhere
                        ? "' is of another cluster (its id was " + from.cluster + " and is " + cluster + "): what was not read of the first one"
                        : "' was deleted and made anew (its id was " + before + " and is " + id + "): what was not read of the old one";
                    String lost = newElsewhere
                        ? "topic '" + topic.name() + "' is of cluster " + cluster + ", and what was read is of cluster " + from.cluster
                        : "topic '" + topic.name() + what + ", after " + positions(from, topic.name()) + ", is gone";
                    if (!this.mayGoOn(lost, "anew " + topic.name())) {
                        remove(latest, topic.name());
                        continue;
                    }
                    remove(begin.at, topic.name());
                }
                begin.ids.put(topic.name(), id);
            }
            for (Iterator entries = latest.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                Key key = (Key) entry.getKey();
                long first = ((Long) earliest.get(key)).longValue();
                long end = ((Long) entry.getValue()).longValue();
                if (!begin.at.containsKey(key)) {
                    begin.at.put(key, Long.valueOf(first));
                    begin.from.put(key, Long.valueOf(first));
                    continue;
                }
                long at = ((Long) begin.at.get(key)).longValue();
                if (at < first) {
                    if (this.mayGoOn((first - at) + " messages of " + key + " are gone, from offset " + at + " to " + (first - 1)
                        + ": the topic kept them for a shorter time than they waited", "aged " + key)) {
                        begin.at.put(key, Long.valueOf(first));
                        begin.from.put(key, Long.valueOf(first));
                    } else {
                        entry.setValue(Long.valueOf(at));
                    }
                } else if (at > end) {
                    if (this.mayGoOn(key + " ends at offset " + end + ", and was read to " + at
                        + ": the topic was cut, and what comes after that would be taken for what was read", "cut " + key)) {
                        begin.at.put(key, Long.valueOf(end));
                        begin.from.put(key, Long.valueOf(end));
                    } else {
                        entry.setValue(Long.valueOf(at));
                    }
                }
            }
            return begin;
        }

        private static boolean isElsewhere(Place place, String cluster) {
            return !place.cluster.isEmpty() && !cluster.isEmpty() && !place.cluster.equals(cluster);
        }

        private static void remove(TreeMap offsets, String topic) {
            for (Iterator keys = offsets.keySet().iterator(); keys.hasNext(); ) {
                if (((Key) keys.next()).topic.equals(topic)) {
                    keys.remove();
                }
            }
        }

        private static String positions(Place place, String topic) {
            StringBuilder text = new StringBuilder();
            for (Iterator entries = place.at.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                Key key = (Key) entry.getKey();
                if (key.topic.equals(topic)) {
                    text.append(text.length() == 0 ? "" : ", ").append("offset ").append(entry.getValue()).append(" of partition ").append(key.partition);
                }
            }
            return text.toString();
        }

        private boolean mayGoOn(String lost, String kind) {
            if (this.onLoss.equals("fail")) {
                throw new IllegalStateException("Source '" + this.stage + "': " + lost
                    + ". Start the job from a place that is there, or let it go on without them by on_loss=\"continue\".");
            }
            boolean goesOn = this.onLoss.equals("continue");
            if (goesOn || this.toldLosses.add(kind)) {
                LOG.warn("Source '" + this.stage + "': " + lost + (goesOn ? ". The job goes on without them." : ". It waits there."));
            }
            return goesOn;
        }

        /** The end of an epoch that reads no more than its share. */
        private Place within(Place begin, TreeMap latest) throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
            long most = Math.max(1L, (long) (this.maxRows * this.share()));
            if (between(begin.at, latest) > most) {
                return this.aligned(begin, latest, most);
            }
            Place end = begin.copy();
            end.at.putAll(latest);
            return end;
        }

        private static long between(TreeMap from, TreeMap until) {
            long sum = 0L;
            for (Iterator entries = until.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                sum += ((Long) entry.getValue()).longValue() - ((Long) from.get(entry.getKey())).longValue();
            }
            return sum;
        }

        /**
         * The end of an epoch that cannot read all that is there: the same moment in all partitions, by the times of messages, so that
         * none is read ahead of the others and makes their rows late. If one millisecond has more than the share, each partition has a
         * part of it in proportion to what it has.
         */
        private Place aligned(Place begin, TreeMap latest, long most) throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
            long after = System.currentTimeMillis() + 1L;
            long before = this.alignedAt < after ? this.alignedAt : 0L;
            long began = before;
            long step = this.alignedStep;
            TreeMap low = new TreeMap(latest);
            for (Iterator keys = latest.keySet().iterator(); keys.hasNext(); ) {
                Object key = keys.next();
                low.put(key, begin.at.get(key));
            }
            TreeMap high = latest;
            while (after - before > 1L && between(begin.at, low) < most - most / UNREAD_PART) {
                long moment = step > 0L && before + step < after ? before + step : before + (after - before) / 2L;
                TreeMap ends = this.endsAt(moment, low, high);
                if (between(begin.at, ends) > most) {
                    high = ends;
                    after = moment;
                    step = 0L;
                } else {
                    low = ends;
                    before = moment;
                    step *= 2L;
                }
            }
            if (before == began && began > 0L) {
                // Messages have come that are older than the moment at which the last epoch ended: it is no place to look from.
                this.alignedAt = this.alignedStep = 0L;
                return this.aligned(begin, latest, most);
            }
            this.alignedAt = before;
            this.alignedStep = began > 0L ? before - began : 0L;
            Place end = begin.copy();
            end.at.putAll(low);
            long rest = most - between(begin.at, low);
            long there = between(low, high);
            if (after - before > 1L || there == 0L) {
                return end;
            }
            for (Iterator entries = high.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                long at = ((Long) low.get(entry.getKey())).longValue();
                long part = ((Long) entry.getValue()).longValue() - at;
                end.at.put(entry.getKey(), Long.valueOf(at + Math.min(part, (long) Math.ceil((double) rest * part / there))));
            }
            return end;
        }

        /** The first offset of each partition whose message is not older than a moment, no lower and no higher than these. */
        private TreeMap endsAt(long moment, TreeMap low, TreeMap high) throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
            TreeMap ends = new TreeMap();
            TreeMap later = this.listed(low.keySet(), OffsetSpec.forTimestamp(moment));
            for (Iterator entries = later.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                long offset = ((Long) entry.getValue()).longValue();
                long most = ((Long) high.get(entry.getKey())).longValue();
                long least = ((Long) low.get(entry.getKey())).longValue();
                ends.put(entry.getKey(), Long.valueOf(offset < 0L ? most : Math.max(least, Math.min(most, offset))));
            }
            return ends;
        }

        private double share() {
            String file = this.options.get("admission");
            try {
                return file == null ? 1.0 : ((JsonNode) ((JsonNode) JSON.readTree(new File(file))).path("share")).asDouble(1.0);
            } catch (IOException error) {
                return 1.0;
            }
        }

        /**
         * Say how much there is beyond a place, where the runner looks for it (sources/shared.py, Behind): up to the newest offsets,
         * also of partitions that are waited with. Of a topic that was made anew, which is not among the latest, all is beyond.
         */
        private void tellBehind(Place place, TreeMap latest, TreeMap newest) {
            String folder = this.options.get("agreements");
            if (folder == null) {
                return;
            }
            long sum = 0L;
            List shares = new ArrayList();
            for (Iterator entries = newest.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                Object at = latest.containsKey(entry.getKey()) ? place.at.get(entry.getKey()) : null;
                long share = Math.max(0L, ((Long) entry.getValue()).longValue() - (at == null ? 0L : ((Long) at).longValue()));
                sum += share;
                shares.add(new Share((Key) entry.getKey(), share));
            }
            if (shares.size() > MOST_PARTS) {
                Collections.sort(shares);
                shares = shares.subList(0, MOST_PARTS);
            }
            ObjectNode told = JSON.createObjectNode();
            told.put("stage", this.stage);
            told.putArray("behind").add(sum).add("messages");
            ObjectNode parts = told.putObject("parts");
            for (Iterator each = shares.iterator(); each.hasNext(); ) {
                Share share = (Share) each.next();
                parts.put(share.key.topic + ":" + share.key.partition, share.amount);
            }
            told.put("of", newest.size());
            String text = told.toString();
            if (text.equals(this.toldBehind)) {
                return;
            }
            try {
                Path file = Paths.get(folder, new String[] {"kafka-" + Integer.toHexString(this.stage.hashCode()) + ".json"});
                Files.createDirectories(file.getParent());
                Path begun = file.resolveSibling(file.getFileName() + ".tmp");
                Files.write(begun, text.getBytes(StandardCharsets.UTF_8));
                Files.move(begun, file, StandardCopyOption.ATOMIC_MOVE);
                this.toldBehind = text;
            } catch (IOException error) {
                LOG.debug("it cannot be told how far behind the source is", error);
            }
        }

        public InputPartition[] planInputPartitions(Offset start, Offset end) {
            Place from = (Place) start;
            Place until = (Place) end;
            if (!from.decided()) {
                return new InputPartition[0];
            }
            TreeMap begin = new TreeMap();
            TreeMap last = new TreeMap();
            for (Iterator keys = until.at.keySet().iterator(); keys.hasNext(); ) {
                Object key = keys.next();
                begin.put(key, until.from.containsKey(key) ? until.from.get(key) : from.at.get(key));
                last.put(key, until.at.get(key));
            }
            if (!this.decidedEnd.equals(until.json())) {
                this.lookAgain(until, begin, last);
            }
            return prompt(this.reader.planInputPartitions(
                this.reader.deserializeOffset(Place.plain(begin)), this.reader.deserializeOffset(Place.plain(last))));
        }

        /**
         * Partitions whose consumers let no broker wait for further messages. An epoch reads up to a known end, and Spark then asks
         * for the ends of the partition: a broker answers that only after the fetch which the consumer has sent ahead.
         */
        private static InputPartition[] prompt(InputPartition[] planned) {
            InputPartition[] partitions = new InputPartition[planned.length];
            Map settings = null;
            for (int number = 0; number < planned.length; number++) {
                KafkaBatchInputPartition partition = (KafkaBatchInputPartition) planned[number];
                if (settings == null) {
                    settings = new HashMap(partition.executorKafkaParams());
                    settings.putIfAbsent("fetch.max.wait.ms", PROMPT_MS);
                }
                partitions[number] = new KafkaBatchInputPartition(partition.offsetRange(), settings, partition.pollTimeoutMs(),
                    partition.failOnDataLoss(), partition.includeHeaders());
            }
            return partitions;
        }

        /** An epoch that an earlier run has planned: its topics may have been made anew since, or its messages be gone. */
        private void lookAgain(Place until, TreeMap begin, TreeMap last) {
            while (true) {
                long now = System.currentTimeMillis();
                try {
                    TreeMap topics = this.described(now);
                    TreeSet keys = partitions(topics);
                    keys.retainAll(last.keySet());
                    TreeMap earliest = this.listed(keys, OffsetSpec.earliest());
                    TreeMap latest = this.listed(keys, OffsetSpec.latest());
                    boolean elsewhere = isElsewhere(until, this.cluster());
                    for (Iterator all = new TreeSet(last.keySet()).iterator(); all.hasNext(); ) {
                        Key key = (Key) all.next();
                        long first = ((Long) begin.get(key)).longValue();
                        long end = ((Long) last.get(key)).longValue();
                        if (first == end) {
                            continue;
                        }
                        TopicDescription topic = (TopicDescription) topics.get(key.topic);
                        boolean same = !elsewhere && topic != null && topic.topicId().toString().equals(until.ids.get(key.topic));
                        boolean whole = same && latest.containsKey(key) && ((Long) earliest.get(key)).longValue() <= first
                            && ((Long) latest.get(key)).longValue() >= end;
                        if (whole) {
                            continue;
                        }
                        if (!this.onLoss.equals("continue")) {
                            throw new IllegalStateException("Source '" + this.stage + "': the messages " + first + " to " + (end - 1) + " of "
                                + key + ", which the epoch that was cut off is to read again, are not all there: the topic was deleted"
                                + " and made anew, cut, or has dropped them. Let the job go on without them by on_loss=\"continue\".");
                        }
                        LOG.warn("Source '" + this.stage + "': the messages " + first + " to " + (end - 1) + " of " + key
                            + " are not all there any more. The job goes on without those that are gone.");
                        if (!same) {
                            begin.remove(key);
                            last.remove(key);
                        }
                    }
                    return;
                } catch (InterruptedException error) {
                    throw stopped();
                } catch (IllegalStateException error) {
                    throw error;
                } catch (Exception error) {
                    this.away((Place) until, error, now);
                }
                pause(AWAY_MS);
            }
        }

        public PartitionReaderFactory createReaderFactory() {
            PartitionReaderFactory readers = this.reader.createReaderFactory();
            return this.realTime ? new RowReaders(readers, this.options.get("ends")) : readers;
        }

        public void prepareForRealTimeMode() {
            this.realTime = true;
        }

        /** The partitions of an epoch that ends when its time is over, or when that is asked for. */
        public InputPartition[] planInputPartitions(Offset start) {
            Place from = (Place) start;
            while (true) {
                long now = System.currentTimeMillis();
                try {
                    this.begun = from.decided() ? this.beginning(from, now) : this.begun(now);
                    break;
                } catch (InterruptedException error) {
                    throw stopped();
                } catch (Exception error) {
                    this.away(from, error, now);
                }
                pause(AWAY_MS);
            }
            if (this.toldAt > 0) {
                LOG.info("Source '" + this.stage + "': the brokers answer again.");
            }
            this.awaySince = this.toldAt = 0L;
            if (!from.decided()) {
                this.read = new ArrayList();
            }
            if (this.read.isEmpty()) {
                if (from.decided() || !this.begun.decided()) {
                    pause(ABSENT_MS);
                }
                return new InputPartition[] {new RowPartition(0, null)};
            }
            TreeMap first = new TreeMap();
            TreeMap next = new TreeMap();
            for (Iterator keys = this.read.iterator(); keys.hasNext(); ) {
                Object key = keys.next();
                first.put(key, this.begun.at.get(key));
                next.put(key, Long.valueOf(((Long) this.begun.at.get(key)).longValue() + 1L));
            }
            InputPartition[] planned = this.reader.planInputPartitions(
                this.reader.deserializeOffset(Place.plain(first)), this.reader.deserializeOffset(Place.plain(next)));
            InputPartition[] partitions = new InputPartition[planned.length];
            this.read = new ArrayList();
            for (int number = 0; number < planned.length; number++) {
                KafkaBatchInputPartition partition = (KafkaBatchInputPartition) planned[number];
                TopicPartition topic = partition.offsetRange().topicPartition();
                this.read.add(new Key(topic.topic(), topic.partition()));
                KafkaOffsetRange range =
                    new KafkaOffsetRange(topic, partition.offsetRange().fromOffset(), Long.MAX_VALUE, scala.Option.empty());
                partitions[number] = new RowPartition(number, new KafkaBatchInputPartition(range, partition.executorKafkaParams(),
                    partition.pollTimeoutMs(), partition.failOnDataLoss(), partition.includeHeaders()));
            }
            return partitions;
        }

        /** Where an epoch in real time begins. What waits, or is not there, is not read in it. */
        private Place beginning(Place from, long now) throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
            TreeMap topics = this.described(now);
            TreeSet keys = partitions(topics);
            TreeMap earliest = this.listed(keys, OffsetSpec.earliest());
            TreeMap latest = this.listed(keys, OffsetSpec.latest());
            TreeMap newest = new TreeMap(latest);
            Place begin = this.checked(from, topics, earliest, latest, this.cluster());
            this.read = new ArrayList();
            for (Iterator each = latest.keySet().iterator(); each.hasNext(); ) {
                Object key = each.next();
                long at = ((Long) begin.at.get(key)).longValue();
                if (at >= ((Long) earliest.get(key)).longValue() && at <= ((Long) newest.get(key)).longValue()) {
                    this.read.add(key);
                }
            }
            this.tellBehind(begin, latest, newest);
            return begin;
        }

        /** The place that the tasks of an epoch in real time have come to. */
        public Offset mergeOffsets(PartitionOffset[] offsets) {
            Place end = this.begun.copy();
            for (int number = 0; number < offsets.length; number++) {
                RateStreamPartitionOffset offset = (RateStreamPartitionOffset) offsets[number];
                if (offset.partition() < this.read.size()) {
                    end.at.put(this.read.get(offset.partition()), Long.valueOf(offset.currentValue()));
                }
            }
            this.lookOnceMore();
            return end;
        }

        /** A topic that was made anew while an epoch in real time has read it may have given it messages that are not the old one's. */
        private void lookOnceMore() {
            TreeSet names = new TreeSet();
            for (Iterator keys = this.read.iterator(); keys.hasNext(); ) {
                names.add(((Key) keys.next()).topic);
            }
            while (!names.isEmpty()) {
                long now = System.currentTimeMillis();
                try {
                    TreeMap topics = this.described(now);
                    for (Iterator all = names.iterator(); all.hasNext(); ) {
                        String name = (String) all.next();
                        TopicDescription topic = (TopicDescription) topics.get(name);
                        if (topic == null || !topic.topicId().toString().equals(this.begun.ids.get(name))) {
                            throw new IllegalStateException("Source '" + this.stage + "': topic '" + name + "' was deleted, or made anew,"
                                + " while an epoch read it. The epoch is not committed, and is read again.");
                        }
                    }
                    return;
                } catch (InterruptedException error) {
                    throw stopped();
                } catch (IllegalStateException error) {
                    throw error;
                } catch (Exception error) {
                    this.away(this.begun, error, now);
                }
                pause(AWAY_MS);
            }
        }

        private static void pause(long milliseconds) {
            try {
                Thread.sleep(milliseconds);
            } catch (InterruptedException error) {
                throw stopped();
            }
        }

        public void commit(Offset end) {}

        /**
         * Let the group have the offsets of the last committed epoch. The answer is not waited for, and what goes wrong is told once:
         * nothing of the job depends on it.
         */
        private void tellGroup(boolean last) {
            long now = System.currentTimeMillis();
            if (this.group == null || this.committed == null || (now < this.groupDue && !last)) {
                return;
            }
            this.groupDue = now + GROUP_MS;
            try {
                if (this.groupAnswer != null) {
                    if (!this.groupAnswer.isDone() && !last) {
                        return;
                    }
                    if (this.groupAnswer.isDone()) {
                        KafkaFuture answer = this.groupAnswer;
                        this.groupAnswer = null;
                        answer.get();
                        this.groupTold = false;
                    }
                }
                if (this.committed == this.groupPlace || (this.groupPlace != null && this.committed.json().equals(this.groupPlace.json()))) {
                    return;
                }
                Map offsets = this.groupOffsets(this.committed);
                if (!offsets.isEmpty()) {
                    this.groupPlace = this.committed;
                    this.groupAnswer = this.admin().alterConsumerGroupOffsets(this.group, offsets).all();
                }
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            } catch (Exception error) {
                this.groupPlace = null;
                this.groupDue = now + TOLD_MS;
                if (!this.groupTold) {
                    this.groupTold = true;
                    Throwable cause = error.getCause() != null ? error.getCause() : error;
                    LOG.warn("Source '" + this.stage + "': the offsets of group '" + this.group + "' cannot be committed: "
                        + cause.getMessage() + " It is tried again; the job goes on.");
                }
            }
        }

        /** The offsets of a place in those of its topics that are there now: partition -> offset, as Kafka's client has them. */
        private Map groupOffsets(Place place) throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
            Map offsets = new HashMap();
            if (!place.decided() || this.topics.isEmpty() || isElsewhere(place, this.cluster())) {
                return offsets;
            }
            for (Iterator entries = place.at.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry entry = (Map.Entry) entries.next();
                Key key = (Key) entry.getKey();
                TopicDescription topic = (TopicDescription) this.topics.get(key.topic);
                if (topic != null && topic.topicId().toString().equals(place.ids.get(key.topic))) {
                    offsets.put(new TopicPartition(key.topic, key.partition), new OffsetAndMetadata(((Long) entry.getValue()).longValue()));
                }
            }
            return offsets;
        }

        public void stop() {
            this.tellGroup(true);
            if (this.admin != null) {
                this.admin.close(Duration.ofSeconds(2L));
            }
            this.reader.stop();
        }
    }

    /** A partition that an epoch in real time reads; without one of Spark's it has no messages, and ends at once. */
    static final class RowPartition implements InputPartition {
        final int number;
        final InputPartition partition;

        RowPartition(int number, InputPartition partition) {
            this.number = number;
            this.partition = partition;
        }
    }

    static final class RowReaders implements PartitionReaderFactory {
        private final PartitionReaderFactory readers;
        private final String ends;

        RowReaders(PartitionReaderFactory readers, String ends) {
            this.readers = readers;
            this.ends = ends;
        }

        public PartitionReader createReader(InputPartition partition) {
            RowPartition own = (RowPartition) partition;
            SupportsRealTimeRead reader = own.partition == null ? null : (SupportsRealTimeRead) this.readers.createReader(own.partition);
            RowReader made = new RowReader(own.number, reader, this.ends == null ? null : new File(this.ends));
            // Spark does not close readers of real time, and each has a consumer of Kafka.
            TaskContext.get().addTaskCompletionListener((TaskCompletionListener) made);
            return made;
        }
    }

    /** Reads messages as they come, and has none any more once somebody has asked for the end of the epoch by a file. */
    static final class RowReader implements SupportsRealTimeRead, TaskCompletionListener {
        private static final long LOOK_MS = 10L;

        private final int number;
        private final SupportsRealTimeRead reader;
        private final File ends;
        private long lookDue;
        private boolean closed;

        RowReader(int number, SupportsRealTimeRead reader, File ends) {
            this.number = number;
            this.reader = reader;
            this.ends = ends;
        }

        public SupportsRealTimeRead.RecordStatus nextWithTimeout(Long start, Long timeout) throws IOException {
            long deadline = System.nanoTime() + timeout.longValue() * 1000000L;
            while (this.reader != null) {
                long now = System.nanoTime();
                if (now - this.lookDue >= 0L) {
                    if (this.ends != null && this.ends.exists()) {
                        break;
                    }
                    this.lookDue = now + LOOK_MS * 1000000L;
                }
                long left = (deadline - now) / 1000000L;
                if (left <= 0L) {
                    break;
                }
                SupportsRealTimeRead.RecordStatus status = this.reader.nextWithTimeout(start, Long.valueOf(Math.min(left, LOOK_MS)));
                if (status.hasRecord()) {
                    return status;
                }
            }
            return SupportsRealTimeRead.RecordStatus.newStatusWithoutArrivalTime(false);
        }

        public boolean next() throws IOException {
            throw new UnsupportedOperationException("This reader is one of epochs in real time.");
        }

        public Object get() {
            return this.reader.get();
        }

        /** In a class of Spark's own: the driver reads it by a loader that does not know the classes of the session. */
        public PartitionOffset getOffset() {
            long at = this.reader == null ? 0L : ((KafkaSourcePartitionOffset) this.reader.getOffset()).partitionOffset();
            return new RateStreamPartitionOffset(this.number, at, 0L);
        }

        public void onTaskCompletion(TaskContext context) {
            try {
                this.close();
            } catch (IOException error) {
                LOG.debug("a reader cannot be closed", error);
            }
        }

        public void close() throws IOException {
            if (this.reader != null && !this.closed) {
                this.closed = true;
                this.reader.close();
            }
        }
    }
}
