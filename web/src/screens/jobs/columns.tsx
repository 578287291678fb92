import { Badge, Group, Text, Tooltip } from "@mantine/core";
import type { Job } from "../../api/client";
import { duration, rate } from "../../logic/format";
import type { Column } from "../../parts/DataTable";
import { JobLink } from "../../parts/JobLink";
import { StateChip } from "../../parts/StateChip";
import { useNow, When } from "../../parts/When";

/** The columns of the list of jobs; `taken` says when each job's newest snapshot was taken. */
export function jobColumns(taken: Map<string, string>): Column<Job>[] {
  return [
    {
      id: "name",
      head: "Name",
      width: "minmax(140px, 2fr)",
      value: (job) => job.name ?? job.id,
      cell: (job) => <JobLink job={job} />,
    },
    {
      id: "status",
      head: "State",
      width: "minmax(150px, 1fr)",
      value: (job) => job.display_status,
      cell: (job) => <State job={job} />,
    },
    {
      id: "rate",
      head: "Rows read",
      width: "95px",
      numeric: true,
      value: (job) => (job.status === "RUNNING" ? job.progress.rows_per_second : null),
      cell: (job) => rate(job.status === "RUNNING" ? job.progress.rows_per_second : null),
    },
    {
      id: "lag",
      head: "Watermark lag",
      width: "125px",
      numeric: true,
      value: (job) => (job.progress.watermark_ms === null ? null : -job.progress.watermark_ms),
      cell: (job) => <Lag job={job} />,
    },
    {
      id: "snapshot",
      head: "Last snapshot",
      width: "115px",
      value: (job) => taken.get(job.id),
      cell: (job) => <When at={taken.get(job.id)} />,
    },
    {
      id: "version",
      head: "Version",
      width: "75px",
      numeric: true,
      value: (job) => job.version,
      cell: (job) => job.version,
    },
    {
      id: "submitted",
      head: "Submitted",
      width: "105px",
      value: (job) => job.submission_time,
      cell: (job) => <When at={job.submission_time} />,
    },
    {
      id: "id",
      head: "Id",
      width: "190px",
      cell: (job) => (
        <Text span inherit ff="monospace">
          {job.id}
        </Text>
      ),
    },
  ];
}

function State({ job }: { job: Job }) {
  const cause =
    job.failure ?? (job.suspension_cause?.startsWith("Execution") ? job.suspension_cause : null) ?? job.interruption;
  const chip = (
    <Group gap={6} wrap="nowrap">
      <StateChip state={job.display_status} />
      {job.updating && (
        <Badge variant="outline" color="var(--mantine-color-text)" radius="sm" tt="none">
          updating
        </Badge>
      )}
    </Group>
  );
  return cause ? (
    <Tooltip label={cause.slice(0, 500)} multiline maw={420}>
      {chip}
    </Tooltip>
  ) : (
    chip
  );
}

function Lag({ job }: { job: Job }) {
  const now = useNow();
  const known = job.status === "RUNNING" && job.progress.watermark_ms !== null;
  return <>{duration(known ? now - (job.progress.watermark_ms ?? 0) : null)}</>;
}
