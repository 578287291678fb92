import java.io.IOException;
import java.nio.file.Files;
import java.util.HashSet;
import java.util.Set;
import java.nio.file.attribute.PosixFilePermission;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, which sets permissions itself. Hadoop's own starts a program (chmod) for each file and folder that it
 * makes, unless it finds a library of its own in C, which Spark does not bring along.
 */
public final class LocalFiles extends LocalFileSystem {
    private static final PosixFilePermission[] BITS = {
        PosixFilePermission.OTHERS_EXECUTE,
        PosixFilePermission.OTHERS_WRITE,
        PosixFilePermission.OTHERS_READ,
        PosixFilePermission.GROUP_EXECUTE,
        PosixFilePermission.GROUP_WRITE,
        PosixFilePermission.GROUP_READ,
        PosixFilePermission.OWNER_EXECUTE,
        PosixFilePermission.OWNER_WRITE,
        PosixFilePermission.OWNER_READ,
    };

    public LocalFiles() {
        super(new Raw());
    }

    /** Without checksums. */
    public static final class Raw extends RawLocalFileSystem {
        public void setPermission(Path path, FsPermission permission) throws IOException {
            int mode = permission.toShort();
            if (mode >> BITS.length != 0) {
                // Java knows of no more bits than these.
                super.setPermission(path, permission);
                return;
            }
            Set wanted = new HashSet();
            for (int bit = 0; bit < BITS.length; bit++) {
                if ((mode >> bit & 1) == 1) {
                    wanted.add(BITS[bit]);
                }
            }
            try {
                Files.setPosixFilePermissions(this.pathToFile(path).toPath(), wanted);
            } catch (UnsupportedOperationException elsewhere) {
                super.setPermission(path, permission);
            }
        }
    }
}
