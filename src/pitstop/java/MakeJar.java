import java.io.File;
import java.io.FileOutputStream;
import java.io.FileReader;
import java.io.Reader;
import java.util.Iterator;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.codehaus.janino.SimpleCompiler;

/** Arguments: the jar to make, the class that is to serve the scheme "file" of Hadoop, and Java files that are compiled into it. */
public final class MakeJar {
    public static void main(String[] arguments) throws Exception {
        ZipOutputStream jar = new ZipOutputStream(new FileOutputStream(arguments[0]));
        jar.putNextEntry(new ZipEntry("META-INF/services/org.apache.hadoop.fs.FileSystem"));
        jar.write(arguments[1].getBytes("UTF-8"));
        for (int number = 2; number < arguments.length; number++) {
            SimpleCompiler compiler = new SimpleCompiler();
            Reader source = new FileReader(new File(arguments[number]));
            compiler.cook(arguments[number], source);
            source.close();
            for (Iterator each = compiler.getBytecodes().entrySet().iterator(); each.hasNext(); ) {
                Map.Entry made = (Map.Entry) each.next();
                jar.putNextEntry(new ZipEntry(((String) made.getKey()).replace('.', '/') + ".class"));
                jar.write((byte[]) made.getValue());
            }
        }
        jar.close();
    }
}
