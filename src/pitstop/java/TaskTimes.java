import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.status.AppStatusStore;
import org.apache.spark.status.api.v1.JobData;
import org.apache.spark.status.api.v1.StageData;
import org.apache.spark.status.api.v1.TaskData;
import org.apache.spark.status.api.v1.TaskMetrics;
import org.apache.spark.ui.scope.RDDOperationCluster;

/**
 * The times of the tasks of a query's last epochs, as Spark remembers them for its own pages. Nothing is noted for it while epochs run:
 * Spark keeps these figures anyway, and this reads them.
 */
public final class TaskTimes {
    private static final String EPOCH = "batch = ";
    private static final int MOST_TASKS = 10000;

    /**
     * The stages of the newest epochs, the newest first, as JSON.
     *
     * @param group the group of the jobs: the id of the query's run
     * @param epochs how many epochs
     */
    public static String of(SparkContext context, String group, String epochs) throws Exception {
        AppStatusStore store = context.statusStore();
        scala.collection.Seq jobs = store.jobsList(new ArrayList());
        List stages = new ArrayList();
        List seen = new ArrayList();
        for (int place = 0; place < jobs.size(); place++) {
            JobData job = (JobData) jobs.apply(place);
            if (!job.jobGroup().isDefined() || !group.equals(job.jobGroup().get())) {
                continue;
            }
            Integer epoch = epochOf(job);
            if (epoch == null) {
                continue;
            }
            if (!seen.contains(epoch)) {
                if (seen.size() == Integer.parseInt(epochs)) {
                    break;
                }
                seen.add(epoch);
            }
            for (int number = 0; number < job.stageIds().size(); number++) {
                Map stage = stage(store, ((Integer) job.stageIds().apply(number)).intValue());
                if (stage != null) {
                    stage.put("epoch", epoch);
                    stages.add(stage);
                }
            }
        }
        return new ObjectMapper().writeValueAsString(stages);
    }

    private static Integer epochOf(JobData job) {
        String text = job.description().isDefined() ? (String) job.description().get() : "";
        int begins = text.lastIndexOf(EPOCH);
        if (begins < 0) {
            return null;
        }
        try {
            return Integer.valueOf(text.substring(begins + EPOCH.length()).trim());
        } catch (NumberFormatException other) { // that of a query before its first epoch
            return null;
        }
    }

    /** Number, steps and tasks of a stage; null if none of its tasks has begun, or Spark has forgotten it. */
    private static Map stage(AppStatusStore store, int number) {
        StageData stage;
        scala.collection.Seq tasks;
        try {
            stage = store.lastStageAttempt(number);
            tasks = store.taskList(number, stage.attemptId(), MOST_TASKS);
        } catch (java.util.NoSuchElementException forgotten) {
            return null;
        }
        List times = new ArrayList();
        for (int place = 0; place < tasks.size(); place++) {
            TaskData task = (TaskData) tasks.apply(place);
            if (task.duration().isDefined()) {
                times.add(task(task));
            }
        }
        if (times.isEmpty()) {
            return null;
        }
        Map about = new LinkedHashMap();
        about.put("stage", Integer.valueOf(number));
        about.put("steps", steps(store, number));
        about.put("tasks", Integer.valueOf(stage.numTasks()));
        about.put("times", times);
        return about;
    }

    /** Partition, milliseconds, rows read, and whether the task has ended. */
    private static List task(TaskData task) {
        long rows = 0;
        if (task.taskMetrics().isDefined()) {
            TaskMetrics metrics = (TaskMetrics) task.taskMetrics().get();
            rows = metrics.inputMetrics().recordsRead() + metrics.shuffleReadMetrics().recordsRead();
        }
        List about = new ArrayList();
        about.add(Integer.valueOf(task.partitionId()));
        about.add(task.duration().get());
        about.add(Long.valueOf(rows));
        about.add(Boolean.valueOf("SUCCESS".equals(task.status())));
        return about;
    }

    private static List steps(AppStatusStore store, int number) {
        List names = new ArrayList();
        try {
            add(store.operationGraphForStage(number).rootCluster(), names);
        } catch (java.util.NoSuchElementException forgotten) {
            return names;
        }
        return names;
    }

    private static void add(RDDOperationCluster cluster, List names) {
        scala.collection.Seq parts = cluster.childClusters();
        for (int place = 0; place < parts.size(); place++) {
            RDDOperationCluster part = (RDDOperationCluster) parts.apply(place);
            names.add(part.name());
            add(part, names);
        }
    }
}
