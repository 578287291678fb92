import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.internal.SQLConf;

/**
 * The sessions that an engine has made for other processes: they are laid into their gateways, and ended once their process is gone.
 *
 * A query that runs in such a session calls functions of the process, so it fails as soon as that is gone. Ending it frees what it
 * holds: threads, state, cached tables and the Python workers, which Spark itself would keep until the JVM ends.
 */
public final class EngineClients {
    private static final long QUERY_MS = 10_000L;
    private static final String ENVIRONMENT = "org.apache.spark.SparkEnv";
    private static final String FACTORY = "org.apache.spark.api.python.PythonWorkerFactory";
    private static final String MONITOR = "$MonitorThread";
    private static final String SERVER = "org.apache.spark.api.python.Py4JServer";
    private static final String CLIENT = "spark.pitstop.client";
    private static final String CACHE = "org.apache.spark.sql.execution.CacheManager";
    private static final String MAP = "scala.collection.immutable.Map";

    /** Let the process that comes through the gateway of a server find an object by a name. */
    public void put(Object server, String name, Object object) throws Exception {
        gateway(server).putObject(name, object);
    }

    /** End all that a session runs and keeps, and its gateway; return what could not be ended, in words. */
    public List<String> end(Object session, Object server, String variable, String client) {
        List<String> left = new ArrayList<String>();
        // First: what calls the process that is gone gets an error instead of waiting for an answer.
        try {
            call(server, "shutdown");
        } catch (Throwable error) {
            left.add("its gateway: " + error);
        }
        end(session, left);
        try {
            endWorkers(variable, client);
        } catch (Throwable error) {
            left.add("its Python workers: " + error);
        }
        try {
            // Of this session alone: tables and databases belong to all sessions.
            call(call(call(session, "sessionState"), "catalog"), "clearTempTables");
        } catch (Throwable error) {
            left.add("its views: " + error);
        }
        try {
            forgetTables(session, client);
        } catch (Throwable error) {
            System.err.println("cached tables of a process that has left stay in memory: " + error);
        }
        return left;
    }

    private static void end(Object session, List<String> left) {
        List<Thread> stops = new ArrayList<Thread>();
        Object[] queries = active(session);
        for (int number = 0; number < queries.length; number++) {
            Thread stop = new Stop(queries[number]);
            stop.setDaemon(true);
            stop.start();
            stops.add(stop);
        }
        try {
            call(session, "interruptAll");
        } catch (Throwable error) {
            left.add("its Spark jobs: " + error);
        }
        long deadline = System.currentTimeMillis() + QUERY_MS;
        for (int number = 0; number < stops.size(); number++) {
            try {
                ((Thread) stops.get(number)).join(Math.max(1L, deadline - System.currentTimeMillis()));
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        Object[] active = active(session);
        for (int number = 0; number < active.length; number++) {
            left.add("a query that does not end");
        }
    }

    /** Spark has a factory of workers for each environment, and a thread for each factory, for as long as the JVM lives. */
    private static void endWorkers(String variable, String client) throws Exception {
        Object environment = environment();
        synchronized (environment) {
            scala.collection.mutable.HashMap factories =
                (scala.collection.mutable.HashMap) read(environment, ENVIRONMENT, "pythonWorkers", "scala.collection.mutable.HashMap");
            List<Object> keys = new ArrayList<Object>();
            scala.collection.Iterator all = factories.keysIterator();
            while (all.hasNext()) {
                keys.add(all.next());
            }
            for (int number = 0; number < keys.size(); number++) {
                if (isOf(read(keys.get(number), ENVIRONMENT + "$PythonWorkersKey", "envVars", MAP), variable, client)) {
                    factories.remove(keys.get(number));
                }
            }
        }
        // Those of streaming sources are in no list.
        Iterator threads = Thread.getAllStackTraces().keySet().iterator();
        while (threads.hasNext()) {
            Thread thread = (Thread) threads.next();
            if (thread.getClass().getName().equals(FACTORY + MONITOR)) {
                Object factory = read(thread, FACTORY + MONITOR, "$outer", FACTORY);
                if (isOf(read(factory, FACTORY, "envVars", MAP), variable, client)) {
                    MethodType nothing = MethodType.methodType(Void.TYPE);
                    handled(MethodHandles.lookup().findVirtual(Class.forName(FACTORY), "stop", nothing), new Object[] {factory});
                    thread.setUncaughtExceptionHandler(new Silent());
                    thread.interrupt();
                }
            }
        }
    }

    /** Spark keeps the rows of cached tables for all sessions, until somebody who knows a table says that nobody needs it. */
    private static void forgetTables(Object session, String client) throws Exception {
        Object manager = call(call(session, "sharedState"), "cacheManager");
        scala.collection.Iterator entries =
            ((scala.collection.Iterable) read(manager, CACHE, "cachedData", "scala.collection.immutable.IndexedSeq")).iterator();
        while (entries.hasNext()) {
            Object builder = call(call(entries.next(), "cachedRepresentation"), "cacheBuilder");
            // Spark caches in a copy of the session.
            Object copy = call(call(builder, "cachedPlan"), "session");
            Object settings = copy == null ? null : call(call(copy, "sessionState"), "conf");
            if (settings != null && client.equals(((SQLConf) settings).getConfString(CLIENT, ""))) {
                Class<?> declaring = Class.forName("org.apache.spark.sql.execution.columnar.CachedRDDBuilder");
                MethodType clear = MethodType.methodType(Void.TYPE, Boolean.TYPE);
                handled(MethodHandles.lookup().findVirtual(declaring, "clearCache", clear), new Object[] {builder, Boolean.FALSE});
            }
        }
    }

    private static boolean isOf(Object variables, String variable, String client) {
        scala.Option value = ((scala.collection.immutable.Map) variables).get(variable);
        return value.isDefined() && value.get().equals(client);
    }

    private static Object environment() throws Exception {
        Class<?> declaring = Class.forName(ENVIRONMENT);
        return handled(MethodHandles.lookup().findStatic(declaring, "get", MethodType.methodType(declaring)), new Object[0]);
    }

    private static py4j.Gateway gateway(Object server) throws Exception {
        return (py4j.Gateway) read(read(server, SERVER, "server", "java.lang.Object"), "py4j.ClientServer", "gateway", "py4j.Gateway");
    }

    private static Object[] active(Object session) {
        try {
            return (Object[]) (call(call(session, "streams"), "active"));
        } catch (Exception impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** By reflection: the compiler would load every class that a session names in its methods, and not all of them are there. */
    private static Object call(Object of, String name) throws Exception {
        return of.getClass().getMethod(name, new Class[0]).invoke(of, new Object[0]);
    }

    /** By a handle of that field alone: reflection would load the classes of all fields, and not all of them are there. */
    private static Object read(Object of, String in, String name, String type) throws Exception {
        Class<?> declaring = Class.forName(in);
        MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(declaring, MethodHandles.lookup());
        return handled(lookup.findGetter(declaring, name, Class.forName(type)), new Object[] {of});
    }

    private static Object handled(MethodHandle handle, Object[] arguments) throws Exception {
        try {
            return handle.invokeWithArguments(arguments);
        } catch (Exception error) {
            throw error;
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    private static final class Stop extends Thread {
        private final Object query;

        Stop(Object query) {
            super("end of a query");
            this.query = query;
        }

        public void run() {
            try {
                call(query, "stop");
            } catch (Exception stopped) {
                // It is looked for afterwards.
            }
        }
    }

    private static final class Silent implements Thread.UncaughtExceptionHandler {
        public void uncaughtException(Thread thread, Throwable interrupted) {}
    }
}
