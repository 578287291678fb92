import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The sink of a job in real time: the rows of each task go to the runner through a Unix socket as they come, in Arrow batches that wait
 * for two milliseconds at most (spark/running/row_writer.py).
 *
 * A connection begins with a line: "begin TASKS" asks if an epoch may begin; "rows EPOCH PARTITION" has the rows of a task after it;
 * "end EPOCH" says that all tasks have come to their end. The runner answers each with "ok", the second once it has written the rows.
 */
public final class Fan implements TableProvider {
    private static final long WAIT_NANOS = 2000000L;
    private static final int MOST_ROWS = 4096;

    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return new StructType();
    }

    public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
        return new FanTable();
    }

    static final class FanTable implements Table, SupportsWrite {
        public String name() {
            return "pitstop.fan";
        }

        public StructType schema() {
            return new StructType();
        }

        public Set capabilities() {
            return EnumSet.of(TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
        }

        public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
            return new Builder(info.options().get("socket"), info.schema());
        }
    }

    static final class Builder implements SupportsStreamingUpdateAsAppend, Write {
        private final String socket;
        private final StructType schema;

        Builder(String socket, StructType schema) {
            this.socket = socket;
            this.schema = schema;
        }

        public Write build() {
            return this;
        }

        public StreamingWrite toStreaming() {
            return new Stream(this.socket, this.schema);
        }
    }

    static final class Stream implements StreamingWrite {
        private final String socket;
        private final StructType schema;

        Stream(String socket, StructType schema) {
            this.socket = socket;
            this.schema = schema;
        }

        public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
            ask(this.socket, "begin " + info.numPartitions());
            return new Factory(this.socket, this.schema);
        }

        public void commit(long epoch, WriterCommitMessage[] messages) {
            ask(this.socket, "end " + epoch);
        }

        public void abort(long epoch, WriterCommitMessage[] messages) {}
    }

    private static void ask(String socket, String line) {
        try {
            SocketChannel channel = connected(socket, line);
            try {
                await(channel);
            } finally {
                channel.close();
            }
        } catch (ClosedByInterruptException error) {
            // In the way that Spark does not take for a failure.
            throw new UncheckedIOException(new InterruptedIOException("the query is stopped"));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static SocketChannel connected(String socket, String line) throws IOException {
        SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket));
        ByteBuffer bytes = ByteBuffer.wrap((line + "\n").getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
        return channel;
    }

    private static void await(SocketChannel channel) throws IOException {
        if (channel.read(ByteBuffer.allocate(2)) < 1) {
            throw new IOException("The run has not taken the rows of this epoch.");
        }
    }

    static final class Factory implements StreamingDataWriterFactory {
        private final String socket;
        private final StructType schema;

        Factory(String socket, StructType schema) {
            this.socket = socket;
            this.schema = schema;
        }

        public DataWriter createWriter(int partition, long task, long epoch) {
            try {
                return new Writer(connected(this.socket, "rows " + epoch + " " + partition), this.schema);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
    }

    static final class Writer extends Thread implements DataWriter {
        private final SocketChannel channel;
        private final ArrowWriter rows;
        private final ArrowStreamWriter stream;
        private int waiting;
        private long sentAt;
        private boolean ended;
        private IOException failure;

        Writer(SocketChannel channel, StructType schema) throws IOException {
            super("pitstop-fan");
            this.channel = channel;
            this.rows = ArrowWriter.create(schema, "UTC", true, false);
            this.stream = new ArrowStreamWriter(this.rows.root(), null, channel);
            this.stream.start();
            this.setDaemon(true);
            this.start();
        }

        public synchronized void write(Object row) throws IOException {
            if (this.failure != null) {
                throw this.failure;
            }
            this.rows.write((InternalRow) row);
            this.waiting++;
            if (this.waiting >= MOST_ROWS || System.nanoTime() - this.sentAt >= WAIT_NANOS) {
                this.send();
            } else if (this.waiting == 1) {
                this.notifyAll();
            }
        }

        private void send() throws IOException {
            this.rows.finish();
            this.stream.writeBatch();
            this.rows.reset();
            this.waiting = 0;
            this.sentAt = System.nanoTime();
        }

        /** Send rows that have waited long enough, and after which none has come. */
        public void run() {
            while (true) {
                synchronized (this) {
                    while (this.waiting == 0 && !this.ended) {
                        try {
                            this.wait();
                        } catch (InterruptedException error) {
                            return;
                        }
                    }
                    if (this.ended) {
                        return;
                    }
                    if (System.nanoTime() - this.sentAt >= WAIT_NANOS) {
                        try {
                            this.send();
                        } catch (IOException error) {
                            this.failure = error;
                            return;
                        }
                        continue;
                    }
                }
                LockSupport.parkNanos(WAIT_NANOS / 4);
            }
        }

        public WriterCommitMessage commit() throws IOException {
            synchronized (this) {
                if (this.failure != null) {
                    throw this.failure;
                }
                this.send();
                this.ended = true;
                this.notifyAll();
                this.stream.end();
            }
            await(this.channel);
            return new Written();
        }

        public void abort() {}

        public void close() throws IOException {
            synchronized (this) {
                this.ended = true;
                this.notifyAll();
                this.stream.close();
                this.rows.root().close();
            }
            this.channel.close();
        }
    }

    static final class Written implements WriterCommitMessage, Serializable {}
}
