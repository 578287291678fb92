import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * The jobs of topics.py on Flink: from topic to topic, exactly once, until the process is killed.
 * {@code java -cp ... FlinkTopics SERVERS sums|live FOLDER}
 *
 * <p>A checkpoint a second: with it what was written can be read by read_committed.
 */
public final class FlinkTopics {
    private FlinkTopics() {}

    private static String topic(String name, String servers, String columns, String more) {
        return "CREATE TABLE `" + name + "` (" + columns + ") WITH ('connector' = 'kafka', 'topic' = '" + name
                + "', 'properties.bootstrap.servers' = '" + servers + "', 'format' = 'json', "
                + "'json.timestamp-format.standard' = 'ISO-8601', " + more + ")";
    }

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        Configuration options = new Configuration();
        options.setString("state.backend.type", "hashmap");
        options.setString("execution.checkpointing.interval", "1 s");
        options.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
        options.setString("execution.checkpointing.dir", Path.of(arguments[2]).resolve("checkpoints").toUri().toString());
        StreamExecutionEnvironment streams = StreamExecutionEnvironment.createLocalEnvironment(2, options);
        StreamTableEnvironment tables = StreamTableEnvironment.create(streams);
        tables.getConfig().set("table.local-time-zone", "UTC");
        String source = "'scan.startup.mode' = 'earliest-offset', 'properties.group.id' = 'flink-" + arguments[1] + "'";
        String sink = "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'flink-" + arguments[1]
                + "', 'properties.transaction.timeout.ms' = '600000'";
        if (arguments[1].equals("sums")) {
            tables.executeSql(topic("orders", servers,
                    "k BIGINT, v BIGINT, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND", source));
            tables.executeSql(topic("sums", servers,
                    "k BIGINT, window_end TIMESTAMP(3), n BIGINT, total BIGINT, high BIGINT", sink));
            tables.executeSql("INSERT INTO sums SELECT k, window_end, COUNT(*), SUM(v), MAX(v) "
                    + "FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' MINUTE)) GROUP BY k, window_start, window_end")
                    .await();
        } else {
            tables.executeSql(topic("live", servers, "k BIGINT, v BIGINT, ms BIGINT", source));
            tables.executeSql(topic("filtered", servers, "k BIGINT, v BIGINT, ms BIGINT", sink));
            tables.executeSql("INSERT INTO filtered SELECT k, v, ms FROM live WHERE v <> 3").await();
        }
    }
}
