import java.io.IOException;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.streaming.StreamingShuffleManager;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockManagerId$;

/**
 * The shuffle of jobs in real time within one JVM: a bounded queue for each partition that rows go to.
 *
 * Spark's own listens on all addresses of the machine and asks nobody who he is. It also gathers rows before it sends them. Spark keeps
 * its list of such shuffles only for its own class, so this is a subclass of it.
 */
public final class HandOver extends StreamingShuffleManager {
    /** The rows that may wait for a partition's task; a task that has more to give waits. */
    private static final int MOST_ROWS = 1024;
    private static final long LOOK_MS = 100L;
    /** Shuffle -> its queues. */
    private static final ConcurrentHashMap EXCHANGES = new ConcurrentHashMap();
    /** What a task that gives rows puts last. */
    private static final Object END = new Object();

    public ShuffleHandle registerShuffle(int shuffle, ShuffleDependency dependency) {
        int from = dependency.rdd().getNumPartitions();
        EXCHANGES.put(Integer.valueOf(shuffle), new Exchange(from, dependency.partitioner().numPartitions()));
        return super.registerShuffle(shuffle, dependency);
    }

    public ShuffleWriter getWriter(ShuffleHandle handle, long map, TaskContext context, ShuffleWriteMetricsReporter metrics) {
        Partitioner partitioner = ((BaseShuffleHandle) handle).dependency().partitioner();
        return new Giver(exchange(handle), partitioner, map, context, metrics);
    }

    public ShuffleReader getReader(ShuffleHandle handle, int firstMap, int endMap, int first, int end, TaskContext context,
        ShuffleReadMetricsReporter metrics) {
        return new Taker(exchange(handle), first, end, context, metrics);
    }

    public boolean unregisterShuffle(int shuffle) {
        EXCHANGES.remove(Integer.valueOf(shuffle));
        return true;
    }

    private static Exchange exchange(ShuffleHandle handle) {
        Exchange exchange = (Exchange) EXCHANGES.get(Integer.valueOf(handle.shuffleId()));
        if (exchange == null) {
            throw new IllegalStateException("Shuffle " + handle.shuffleId() + " of a job in real time is not of this JVM, or over.");
        }
        return exchange;
    }

    /** The queues of one shuffle, which is that of one epoch. */
    static final class Exchange {
        final int givers;
        final ArrayBlockingQueue[] queues;
        /** Why a task gives no more rows, though it has not come to its end. */
        volatile Throwable failure;

        Exchange(int givers, int takers) {
            this.givers = givers;
            this.queues = new ArrayBlockingQueue[takers];
            for (int number = 0; number < takers; number++) {
                this.queues[number] = new ArrayBlockingQueue(MOST_ROWS);
            }
        }

        void check(TaskContext context) {
            context.killTaskIfInterrupted();
            if (this.failure != null) {
                throw new IllegalStateException("A task that gives rows to this one has failed.", this.failure);
            }
        }

        void put(int partition, Object item, TaskContext context) {
            try {
                while (!this.queues[partition].offer(item, LOOK_MS, TimeUnit.MILLISECONDS)) {
                    this.check(context);
                }
            } catch (InterruptedException error) {
                throw stopped(error);
            }
        }

        Object take(int partition, TaskContext context) {
            try {
                Object item = this.queues[partition].poll();
                while (item == null) {
                    item = this.queues[partition].poll(LOOK_MS, TimeUnit.MILLISECONDS);
                    if (item == null) {
                        this.check(context);
                    }
                }
                return item;
            } catch (InterruptedException error) {
                throw stopped(error);
            }
        }

        private static IllegalStateException stopped(InterruptedException error) {
            Thread.currentThread().interrupt();
            return new IllegalStateException("The task is stopped.", error);
        }
    }

    static final class Giver extends ShuffleWriter {
        private final Exchange exchange;
        private final Partitioner partitioner;
        private final long map;
        private final TaskContext context;
        private final ShuffleWriteMetricsReporter metrics;

        Giver(Exchange exchange, Partitioner partitioner, long map, TaskContext context, ShuffleWriteMetricsReporter metrics) {
            this.exchange = exchange;
            this.partitioner = partitioner;
            this.map = map;
            this.context = context;
            this.metrics = metrics;
        }

        public void write(scala.collection.Iterator records) throws IOException {
            try {
                while (records.hasNext()) {
                    scala.Product2 record = (scala.Product2) records.next();
                    // Whoever makes the rows may use one object for all of them.
                    Object row = ((UnsafeRow) record._2()).copy();
                    this.exchange.put(this.partitioner.getPartition(record._1()), row, this.context);
                    this.metrics.incRecordsWritten(1L);
                }
                for (int partition = 0; partition < this.exchange.queues.length; partition++) {
                    this.exchange.put(partition, END, this.context);
                }
            } catch (RuntimeException error) {
                this.exchange.failure = error;
                throw error;
            } catch (Error error) {
                this.exchange.failure = error;
                throw error;
            }
        }

        public scala.Option stop(boolean success) {
            if (!success) {
                return scala.Option.empty();
            }
            // Nobody fetches blocks from there. Janino cannot compile what names SparkEnv, which has the real place.
            BlockManagerId here = BlockManagerId$.MODULE$.apply("driver", "localhost", 1, scala.Option.empty());
            MapStatus status = MapStatus$.MODULE$.apply(here, this.getPartitionLengths(), this.map, 0L);
            return scala.Option.apply(status);
        }

        public long[] getPartitionLengths() {
            return new long[this.exchange.queues.length];
        }
    }

    static final class Taker implements ShuffleReader {
        private final Exchange exchange;
        private final int first;
        private final int end;
        private final TaskContext context;
        private final ShuffleReadMetricsReporter metrics;

        Taker(Exchange exchange, int first, int end, TaskContext context, ShuffleReadMetricsReporter metrics) {
            this.exchange = exchange;
            this.first = first;
            this.end = end;
            this.context = context;
            this.metrics = metrics;
        }

        public scala.collection.Iterator read() {
            if (this.end != this.first + 1) {
                throw new IllegalStateException("A task takes the rows of partitions " + this.first + " to " + this.end + ", and can take one.");
            }
            return scala.jdk.javaapi.CollectionConverters.asScala(new Rows(this.exchange, this.first, this.context, this.metrics));
        }
    }

    /** The rows of one partition as they come, until all tasks that give some have come to their end. */
    static final class Rows implements Iterator {
        private final Exchange exchange;
        private final int partition;
        private final TaskContext context;
        private final ShuffleReadMetricsReporter metrics;
        private int ended;
        private Object row;

        Rows(Exchange exchange, int partition, TaskContext context, ShuffleReadMetricsReporter metrics) {
            this.exchange = exchange;
            this.partition = partition;
            this.context = context;
            this.metrics = metrics;
        }

        public boolean hasNext() {
            while (this.row == null && this.ended < this.exchange.givers) {
                Object item = this.exchange.take(this.partition, this.context);
                if (item == END) {
                    this.ended++;
                } else {
                    this.row = item;
                }
            }
            return this.row != null;
        }

        public Object next() {
            if (!this.hasNext()) {
                throw new NoSuchElementException();
            }
            scala.Tuple2 pair = new scala.Tuple2(Integer.valueOf(this.partition), this.row);
            this.row = null;
            this.metrics.incRecordsRead(1L);
            return pair;
        }

        public void remove() {
            throw new UnsupportedOperationException();
        }
    }
}
