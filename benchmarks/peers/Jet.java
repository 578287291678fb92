import com.hazelcast.config.Config;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.jet.Job;
import com.hazelcast.jet.aggregate.AggregateOperations;
import com.hazelcast.jet.config.JobConfig;
import com.hazelcast.jet.config.ProcessingGuarantee;
import com.hazelcast.jet.core.JobStatus;
import com.hazelcast.jet.pipeline.Pipeline;
import com.hazelcast.jet.pipeline.Sinks;
import com.hazelcast.jet.pipeline.SourceBuilder;
import com.hazelcast.jet.pipeline.StreamSource;
import com.hazelcast.jet.pipeline.WindowDefinition;
import java.io.Serializable;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The keyed window aggregate of million.py on Jet; prints one line of JSON. {@code java -cp hazelcast.jar Jet.java KEYS SECONDS}
 *
 * <p>Jet makes the events itself, by the formula of events.py, each of two sources every other one. State is in the heap, with a
 * snapshot every ten seconds, exactly once. The rate is that of the given seconds, after twice as many keys as there are were
 * read.
 */
public final class Jet {
    private static final AtomicLong MADE = new AtomicLong();
    private static final int AT_ONCE = 1024;

    private Jet() {}

    private record Event(long key, long v) implements Serializable {}

    private static final class Generator implements Serializable {
        private final long keys;
        private final int step;
        private long next;

        private Generator(long keys, int first, int step) {
            this.keys = keys;
            this.next = first;
            this.step = step;
        }

        private void fill(SourceBuilder.TimestampedSourceBuffer<Event> buffer) {
            for (int made = 0; made < AT_ONCE; made++, next += step) {
                buffer.add(new Event(next * 7919 % keys, next % 10), next + 3_600_000);
            }
            MADE.addAndGet(AT_ONCE);
        }
    }

    private static StreamSource<Event> events(long keys) {
        return SourceBuilder.timestampedStream("events",
                        context -> new Generator(keys, context.globalProcessorIndex(), context.totalParallelism()))
                .<Event>fillBufferFn(Generator::fill)
                .createSnapshotFn(generator -> generator.next)
                .restoreSnapshotFn((generator, saved) -> generator.next = saved.get(0))
                .distributed(2)
                .build();
    }

    public static void main(String[] arguments) throws Exception {
        long keys = Long.parseLong(arguments[0]);
        long seconds = Long.parseLong(arguments[1]);
        Config config = new Config();
        config.setProperty("hazelcast.logging.type", "none");
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.getJetConfig().setEnabled(true).setCooperativeThreadCount(2);
        config.getNetworkConfig().setPublicAddress("127.0.0.1").getInterfaces().setEnabled(true).setInterfaces(List.of("127.0.0.1"));
        config.getNetworkConfig().getJoin().getAutoDetectionConfig().setEnabled(false);
        config.getNetworkConfig().getJoin().getMulticastConfig().setEnabled(false);
        HazelcastInstance member = Hazelcast.newHazelcastInstance(config);
        Pipeline pipeline = Pipeline.create();
        pipeline.readFrom(events(keys))
                .withNativeTimestamps(2_000)
                .groupingKey(Event::key)
                .window(WindowDefinition.tumbling(TimeUnit.DAYS.toMillis(40)))
                .aggregate(AggregateOperations.allOf(
                        AggregateOperations.counting(),
                        AggregateOperations.summingLong(Event::v),
                        AggregateOperations.maxBy((one, other) -> Long.compare(one.v(), other.v()))))
                .writeTo(Sinks.noop());
        JobConfig options = new JobConfig()
                .setProcessingGuarantee(ProcessingGuarantee.EXACTLY_ONCE)
                .setSnapshotIntervalMillis(10_000);
        Job job = member.getJet().newJob(pipeline, options);
        while (job.getStatus() != JobStatus.RUNNING || MADE.get() < 2 * keys + 2_000_000) {
            if (job.getStatus() == JobStatus.FAILED) {
                job.join();
            }
            Thread.sleep(20);
        }
        long began = System.nanoTime();
        long before = MADE.get();
        Thread.sleep(TimeUnit.SECONDS.toMillis(seconds));
        double rate = (MADE.get() - before) * 1e9 / (System.nanoTime() - began);
        System.out.println("{\"rows_per_second\": " + Math.round(rate) + "}");
        job.cancel();
        member.shutdown();
    }
}
