import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * The keyed window aggregate of million.py on Flink; prints one line of JSON.
 * {@code java -cp ... Flink KEYS hashmap|rocksdb ROWS ROWS}
 *
 * <p>Flink makes the events itself, by the formula of events.py. The rate is that of the rows by which the second run is longer
 * than the first: what a job's start and end cost counts in both.
 */
public final class Flink {
    private static final long WARM_UP = 2_000_000;
    private static final String SUMS = "INSERT INTO sums SELECT k, window_start, window_end, COUNT(*), SUM(v), MAX(v) "
            + "FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '40' DAY)) GROUP BY k, window_start, window_end";

    private Flink() {}

    private static Configuration options(String backend, Path folder) {
        Configuration options = new Configuration();
        options.setString("state.backend.type", backend);
        options.setString("execution.checkpointing.interval", "10 s");
        options.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
        options.setString("execution.checkpointing.incremental", "true");
        options.setString("execution.checkpointing.dir", folder.resolve("checkpoints").toUri().toString());
        options.setString("taskmanager.memory.managed.size", "1 gb");
        return options;
    }

    private static double seconds(Configuration options, long keys, long rows) throws Exception {
        StreamExecutionEnvironment streams = StreamExecutionEnvironment.createLocalEnvironment(2, options);
        StreamTableEnvironment tables = StreamTableEnvironment.create(streams);
        DataStream<Long> numbers = streams.fromSource(
                new DataGeneratorSource<>(number -> number, rows, Types.LONG), WatermarkStrategy.noWatermarks(), "events");
        Schema schema = Schema.newBuilder()
                .columnByExpression("k", "MOD(f0 * 7919, " + keys + ")")
                .columnByExpression("v", "MOD(f0, 10)")
                .columnByExpression("ts", "TO_TIMESTAMP_LTZ(f0 + 3600000, 3)")
                .watermark("ts", "ts - INTERVAL '2' SECOND")
                .build();
        tables.createTemporaryView("events", numbers, schema);
        tables.executeSql("CREATE TABLE sums (k BIGINT, window_start TIMESTAMP(3), window_end TIMESTAMP(3), n BIGINT, "
                + "total BIGINT, high BIGINT) WITH ('connector' = 'blackhole')");
        long began = System.nanoTime();
        tables.executeSql(SUMS).await();
        return (System.nanoTime() - began) / 1e9;
    }

    public static void main(String[] arguments) throws Exception {
        long keys = Long.parseLong(arguments[0]);
        long few = Long.parseLong(arguments[2]);
        long many = Long.parseLong(arguments[3]);
        Path folder = Files.createTempDirectory("flink");
        Configuration options = options(arguments[1], folder);
        seconds(options, keys, WARM_UP);
        double one = seconds(options, keys, few);
        double other = seconds(options, keys, many);
        System.out.printf("{\"rows_per_second\": %d, \"seconds\": [%.2f, %.2f]}%n", Math.round((many - few) / (other - one)), one, other);
        System.exit(0);
    }
}
