import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.Lock;
import py4j.DefaultGatewayServerListener;
import py4j.GatewayServer;
import py4j.Py4JServerConnection;

/**
 * The end of other users' connections to the ports on which py4j takes calls from Python.
 *
 * py4j asks each connection for its secret, but waits for it without a limit, with a thread, and reads a line of any length. The
 * kernel knows which user of the machine holds the other end (/proc/net/tcp). One thread asks it, for all connections that have
 * come since it last did, so that no call from Python waits for the answer.
 */
public final class OwnPeers extends DefaultGatewayServerListener implements Runnable {
    private static final String[] TABLES = {"/proc/net/tcp", "/proc/net/tcp6"};
    private static final String ESTABLISHED = "01";
    /** The table changes while it is read, so that one look may miss a line. */
    private static final int LOOKS = 5;
    private static final long PAUSE_MS = 10L;

    private final LinkedBlockingQueue<Socket> arrivals = new LinkedBlockingQueue<Socket>();
    private final String user;

    public OwnPeers() throws IOException {
        this.user = effectiveUser();
        Thread thread = new Thread(this, "pitstop-own-peers");
        thread.setDaemon(true);
        thread.start();
    }

    /** End the connections of other users to this server, those that are there and those that will come. */
    public void guard(GatewayServer server) throws Exception {
        List listeners = server.getListeners();
        for (int number = 0; number < listeners.size(); number++) {
            if (listeners.get(number).getClass().getName().equals(getClass().getName())) {
                return;
            }
        }
        server.addListener(this);
        Object[] before = connections(server);
        for (int number = 0; number < before.length; number++) {
            connectionStarted((Py4JServerConnection) before[number]);
        }
    }

    public void connectionStarted(Py4JServerConnection connection) {
        Socket socket = connection.getSocket();
        if (socket != null) { // the connection has ended already
            this.arrivals.add(socket);
        }
    }

    public void run() {
        while (true) {
            List<Socket> sockets = new ArrayList<Socket>();
            try {
                sockets.add(this.arrivals.take());
                this.arrivals.drainTo(sockets);
                endStrangers(sockets);
            } catch (InterruptedException ended) {
                return;
            } catch (Throwable error) {
                System.err.println("connections to py4j are ended, because nobody can tell whose they are: " + error);
                end(sockets);
            }
        }
    }

    private void endStrangers(List<Socket> sockets) throws Exception {
        for (int look = 0; look < LOOKS && !sockets.isEmpty(); look++) {
            if (look > 0) {
                Thread.sleep(PAUSE_MS);
            }
            Map<String, String> owners = owners();
            List<Socket> unknown = new ArrayList<Socket>();
            for (int number = 0; number < sockets.size(); number++) {
                Socket socket = (Socket) sockets.get(number);
                if (socket.isClosed()) {
                    continue;
                }
                String ends = end(socket.getInetAddress(), socket.getPort()) + " " + end(socket.getLocalAddress(), socket.getLocalPort());
                String owner = (String) owners.get(ends);
                if (owner == null) {
                    unknown.add(socket);
                } else if (!owner.equals(this.user)) {
                    end(socket);
                }
            }
            sockets = unknown;
        }
        end(sockets);
    }

    private static void end(List<Socket> sockets) {
        for (int number = 0; number < sockets.size(); number++) {
            end((Socket) sockets.get(number));
        }
    }

    private static void end(Socket socket) {
        try {
            // Its thread reads the end of the stream, closes the socket and goes. A socket that is closed under it fills the log.
            socket.shutdownInput();
            socket.shutdownOutput();
        } catch (IOException gone) {
            // The other end was faster.
        }
    }

    /** Return the user of each established connection, by both ends of it as its own side has them. */
    private static Map<String, String> owners() throws IOException {
        Map<String, String> owners = new HashMap<String, String>();
        for (int number = 0; number < TABLES.length; number++) {
            if (!new File(TABLES[number]).exists()) { // a kernel without IPv6
                continue;
            }
            BufferedReader table = new BufferedReader(new FileReader(TABLES[number]));
            try {
                table.readLine();
                for (String line = table.readLine(); line != null; line = table.readLine()) {
                    String[] fields = line.trim().split("\\s+");
                    if (fields[3].equals(ESTABLISHED)) {
                        owners.put(whole(fields[1]) + " " + whole(fields[2]), fields[7]);
                    }
                }
            } finally {
                table.close();
            }
        }
        return owners;
    }

    /** Return an end as the kernel writes those of IPv6, where an address of IPv4 is a mapped one. */
    private static String whole(String end) {
        return end.length() > 13 ? end : mapping() + end;
    }

    private static String mapping() {
        return "0000000000000000" + word(new byte[] {0, 0, (byte) 0xff, (byte) 0xff}, 0);
    }

    private static String end(InetAddress address, int port) {
        byte[] bytes = address.getAddress();
        StringBuilder end = new StringBuilder(address instanceof Inet4Address ? mapping() : "");
        for (int first = 0; first < bytes.length; first += 4) {
            end.append(word(bytes, first));
        }
        return end.append(String.format(":%04X", new Object[] {Integer.valueOf(port)})).toString();
    }

    /** Return four bytes of an address in the order of the machine, as the kernel writes them. */
    private static String word(byte[] bytes, int first) {
        StringBuilder word = new StringBuilder();
        for (int number = 0; number < 4; number++) {
            int place = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? first + 3 - number : first + number;
            word.append(String.format("%02X", new Object[] {Byte.valueOf(bytes[place])}));
        }
        return word.toString();
    }

    private static String effectiveUser() throws IOException {
        BufferedReader status = new BufferedReader(new FileReader("/proc/self/status"));
        try {
            for (String line = status.readLine(); line != null; line = status.readLine()) {
                if (line.startsWith("Uid:")) {
                    return line.trim().split("\\s+")[2];
                }
            }
        } finally {
            status.close();
        }
        throw new IOException("/proc/self/status tells no user");
    }

    /** py4j has no public list of the connections that it has accepted before somebody listens. */
    private static Object[] connections(GatewayServer server) throws Exception {
        MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(GatewayServer.class, MethodHandles.lookup());
        Object[] of = new Object[] {server};
        Lock lock;
        List connections;
        try {
            lock = (Lock) lookup.findGetter(GatewayServer.class, "lock", Lock.class).invokeWithArguments(of);
            connections = (List) lookup.findGetter(GatewayServer.class, "connections", List.class).invokeWithArguments(of);
        } catch (Exception error) {
            throw error;
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
        lock.lock();
        try {
            return connections.toArray();
        } finally {
            lock.unlock();
        }
    }
}
