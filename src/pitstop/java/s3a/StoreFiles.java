import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.s3a.S3AFileSystem;

/**
 * The files of a bucket of S3, by Hadoop's own file system: one for each way to the bucket.
 *
 * Hadoop keeps one file system for a bucket in a JVM, with the settings of whoever asks first. The jobs of an engine share a JVM,
 * and each may have credentials of its own for a bucket. So Hadoop keeps none of these, and they share one by the name of the way
 * (fs.s3a.bucket.BUCKET.pitstop.store), which is another one for other credentials. It lasts as long as the JVM.
 */
public class StoreFiles extends FilterFileSystem {
  private static final Map OPEN = new HashMap();

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    this.fs = opened(name, conf);
    super.initialize(name, conf);
  }

  @Override
  public String getScheme() {
    return "s3a";
  }

  @Override
  public void close() {
    // Others use it, too.
  }

  private static FileSystem opened(URI name, Configuration conf) throws IOException {
    String bucket = name.getAuthority();
    String way = bucket + " " + conf.get("fs.s3a.bucket." + bucket + ".pitstop.store", "");
    synchronized (OPEN) {
      FileSystem files = (FileSystem) OPEN.get(way);
      if (files == null) {
        files = new S3AFileSystem();
        files.initialize(name, conf);
        OPEN.put(way, files);
      }
      return files;
    }
  }
}
