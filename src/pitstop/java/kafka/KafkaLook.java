import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
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
        ClassLoader before = thread.getContextClassLoader();
        // Kafka finds the classes by which clients sign in through it.
        thread.setContextClassLoader(KafkaLook.class.getClassLoader());
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
        } catch (TimeoutException error) {
            answer.put("error", "no broker answered in time");
        } catch (Exception error) {
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            answer.put("error", String.valueOf(cause.getMessage()));
        } finally {
            thread.setContextClassLoader(before);
        }
        return answer.toString();
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
