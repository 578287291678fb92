import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A look at topics of Kafka, by the client and the settings with which a job would read them: what is there, and the newest message.
 */
public final class KafkaLook {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** The offsets before the end at which a message is looked for: the last ones may be marks of transactions. */
    private static final long BACK = 5L;

    /**
     * Return {"topics": {topic: {"partitions": n, "newest": offset}}, "sample": {topic, partition, offset, timestamp, key, value}},
     * or {"error": text}. "newest" is the highest offset of all partitions, absent where there are no messages.
     */
    public static String look(Object settings, Object names, Object pattern, Object milliseconds) {
        Thread thread = Thread.currentThread();
        ClassLoader before = enter(thread);
        ObjectNode answer = JSON.createObjectNode();
        long end = System.currentTimeMillis() + Long.parseLong((String) milliseconds);
        try {
            Map all = new HashMap((Map) settings);
            all.put("enable.auto.commit", "false");
            all.put("allow.auto.create.topics", "false");
            all.put("default.api.timeout.ms", milliseconds);
            all.put("request.timeout.ms", milliseconds);
            KafkaConsumer consumer = new KafkaConsumer(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            try {
                look(consumer, (String) names, (String) pattern, end, answer);
            } finally {
                consumer.close(Duration.ZERO);
            }
        } catch (Exception error) {
            tell(error, answer);
        } finally {
            thread.setContextClassLoader(before);
        }
        return answer.toString();
    }

    /**
     * Return {"cluster": id, "topics": {topic: {"id": id, "partitions": {partition: {"first": offset, "end": offset, "since": offset}}}}},
     * or {"error": text}. "since" is the first offset of that moment, or the end if there is none: it is there if a moment, in ms, is
     * given. The ends are those that readers of this isolation level see.
     */
    public static String places(Object settings, Object names, Object pattern, Object isolation, Object moment, Object milliseconds) {
        Thread thread = Thread.currentThread();
        ClassLoader before = enter(thread);
        ObjectNode answer = JSON.createObjectNode();
        long end = System.currentTimeMillis() + Long.parseLong((String) milliseconds);
        try {
            Map all = new HashMap((Map) settings);
            all.remove("isolation.level");
            all.put("default.api.timeout.ms", milliseconds);
            all.put("request.timeout.ms", milliseconds);
            Admin admin = AdminClient.create(all);
            try {
                boolean uncommitted = "read_uncommitted".equals(isolation);
                IsolationLevel level = uncommitted ? IsolationLevel.READ_UNCOMMITTED : IsolationLevel.READ_COMMITTED;
                places(admin, (String) names, (String) pattern, level, (String) moment, end, answer);
            } finally {
                admin.close(Duration.ZERO);
            }
        } catch (Exception error) {
            tell(error, answer);
        } finally {
            thread.setContextClassLoader(before);
        }
        return answer.toString();
    }

    private static void places(Admin admin, String names, String pattern, IsolationLevel level, String moment, long end, ObjectNode answer)
        throws Exception {
        String cluster = (String) get(admin.describeCluster().clusterId(), end);
        answer.put("cluster", cluster == null ? "" : cluster);
        List asked = new ArrayList();
        for (Iterator each = ((Collection) get(admin.listTopics().names(), end)).iterator(); each.hasNext(); ) {
            String name = (String) each.next();
            if (pattern.isEmpty() ? ("," + names + ",").contains("," + name + ",") : Pattern.matches(pattern, name)) {
                asked.add(name);
            }
        }
        Map descriptions = (Map) get(admin.describeTopics(asked).allTopicNames(), end);
        ListOffsetsOptions options = new ListOffsetsOptions(level);
        List partitions = new ArrayList();
        for (Iterator all = descriptions.values().iterator(); all.hasNext(); ) {
            TopicDescription topic = (TopicDescription) all.next();
            for (Iterator each = topic.partitions().iterator(); each.hasNext(); ) {
                partitions.add(new TopicPartition(topic.name(), ((TopicPartitionInfo) each.next()).partition()));
            }
        }
        Map firsts = offsets(admin, partitions, OffsetSpec.earliest(), options, end);
        Map ends = offsets(admin, partitions, OffsetSpec.latest(), options, end);
        Map since = new HashMap();
        if (!moment.isEmpty()) {
            since = offsets(admin, partitions, OffsetSpec.forTimestamp(Long.parseLong(moment)), options, end);
        }
        ObjectNode topics = answer.putObject("topics");
        for (Iterator all = descriptions.values().iterator(); all.hasNext(); ) {
            TopicDescription topic = (TopicDescription) all.next();
            topics.putObject(topic.name()).put("id", topic.topicId().toString()).putObject("partitions");
        }
        for (Iterator each = partitions.iterator(); each.hasNext(); ) {
            TopicPartition partition = (TopicPartition) each.next();
            ObjectNode node = ((ObjectNode) topics.path(partition.topic()).path("partitions")).putObject(String.valueOf(partition.partition()));
            long last = ((Long) ends.get(partition)).longValue();
            node.put("first", ((Long) firsts.get(partition)).longValue());
            node.put("end", last);
            if (since.containsKey(partition)) {
                long at = ((Long) since.get(partition)).longValue();
                node.put("since", at < 0L ? last : at);
            }
        }
    }

    private static Map offsets(Admin admin, List partitions, OffsetSpec spec, ListOffsetsOptions options, long end) throws Exception {
        Map request = new HashMap();
        for (Iterator each = partitions.iterator(); each.hasNext(); ) {
            request.put(each.next(), spec);
        }
        Map offsets = new HashMap();
        if (request.isEmpty()) {
            return offsets;
        }
        Map answers = (Map) get(admin.listOffsets(request, options).all(), end);
        for (Iterator entries = answers.entrySet().iterator(); entries.hasNext(); ) {
            Map.Entry entry = (Map.Entry) entries.next();
            ListOffsetsResult.ListOffsetsResultInfo info = (ListOffsetsResult.ListOffsetsResultInfo) entry.getValue();
            offsets.put(entry.getKey(), Long.valueOf(info.offset()));
        }
        return offsets;
    }

    private static Object get(KafkaFuture future, long end) throws Exception {
        return future.get(Math.max(1L, end - System.currentTimeMillis()), TimeUnit.MILLISECONDS);
    }

    /** Kafka finds the classes by which clients sign in through the loader of the thread. */
    private static ClassLoader enter(Thread thread) {
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(KafkaLook.class.getClassLoader());
        return before;
    }

    private static void tell(Exception error, ObjectNode answer) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        boolean late = error instanceof TimeoutException || cause instanceof TimeoutException || cause instanceof java.util.concurrent.TimeoutException;
        answer.put("passing", late || cause instanceof org.apache.kafka.common.errors.RetriableException);
        answer.put("error", late ? "no broker answered in time" : String.valueOf(cause.getMessage()));
    }

    private static Duration left(long end) {
        return Duration.ofMillis(Math.max(1L, end - System.currentTimeMillis()));
    }

    private static void look(KafkaConsumer consumer, String names, String pattern, long end, ObjectNode answer) {
        ObjectNode topics = answer.putObject("topics");
        Map known = new TreeMap(consumer.listTopics(left(end)));
        List partitions = new ArrayList();
        for (Iterator entries = known.entrySet().iterator(); entries.hasNext(); ) {
            Map.Entry entry = (Map.Entry) entries.next();
            String topic = (String) entry.getKey();
            boolean read = pattern.isEmpty() ? ("," + names + ",").contains("," + topic + ",") : Pattern.matches(pattern, topic);
            if (read) {
                int count = ((List) entry.getValue()).size();
                topics.putObject(topic).put("partitions", count);
                for (int number = 0; number < count; number++) {
                    partitions.add(new TopicPartition(topic, number));
                }
            }
        }
        if (partitions.isEmpty()) {
            return;
        }
        Map begins = consumer.beginningOffsets(partitions, left(end));
        Map ends = consumer.endOffsets(partitions, left(end));
        List filled = new ArrayList();
        for (Iterator each = partitions.iterator(); each.hasNext(); ) {
            TopicPartition partition = (TopicPartition) each.next();
            long last = ((Long) ends.get(partition)).longValue();
            if (last > ((Long) begins.get(partition)).longValue()) {
                filled.add(partition);
                ObjectNode topic = (ObjectNode) topics.get(partition.topic());
                long newest = topic.has("newest") ? topic.get("newest").asLong() : -1L;
                topic.put("newest", Math.max(newest, last - 1L));
            }
        }
        if (filled.isEmpty()) {
            return;
        }
        consumer.assign(filled);
        for (Iterator each = filled.iterator(); each.hasNext(); ) {
            TopicPartition partition = (TopicPartition) each.next();
            long last = ((Long) ends.get(partition)).longValue();
            consumer.seek(partition, Math.max(((Long) begins.get(partition)).longValue(), last - BACK));
        }
        ConsumerRecord sample = null;
        while (System.currentTimeMillis() < end && !passed(consumer, filled, ends)) {
            for (Iterator records = consumer.poll(Duration.ofMillis(100L)).iterator(); records.hasNext(); ) {
                ConsumerRecord record = (ConsumerRecord) records.next();
                if (sample == null || record.timestamp() >= sample.timestamp()) {
                    sample = record;
                }
            }
        }
        if (sample != null) {
            ObjectNode message = answer.putObject("sample");
            message.put("topic", sample.topic());
            message.put("partition", sample.partition());
            message.put("offset", sample.offset());
            message.put("timestamp", sample.timestamp());
            message.put("key", text(sample.key()));
            message.put("value", text(sample.value()));
        }
    }

    private static boolean passed(KafkaConsumer consumer, List partitions, Map ends) {
        for (Iterator each = partitions.iterator(); each.hasNext(); ) {
            TopicPartition partition = (TopicPartition) each.next();
            if (consumer.position(partition) < ((Long) ends.get(partition)).longValue()) {
                return false;
            }
        }
        return true;
    }

    private static String text(Object bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString((byte[]) bytes);
    }
}
