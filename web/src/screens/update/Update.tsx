import { Group, Stack, Text, Title } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Job, JobEvent } from "../../api/client";
import { useJobs } from "../../api/queries";
import { jobNamed } from "../../logic/jobNamed";
import { JobLink } from "../../parts/JobLink";
import { StateChip } from "../../parts/StateChip";
import { Empty, Loaded } from "../../parts/Trouble";
import { SIGNAL } from "../../parts/theme";
import { Notice } from "../../parts/version/Notice";
import { When } from "../../parts/When";
import { ChangeOverPanel } from "./ChangeOverPanel";
import { beginOf, lastOutcome } from "./changeOver";
import { NewVersion } from "./NewVersion";
import { useRemembered } from "./remembered";
import { useJobEvents } from "./useJobEvents";
import { useUpdate } from "./useUpdate";

const route = getRouteApi("/jobs/$job/update");

/** A new version for a job: chosen, compared with what is saved, put in the place of the old one, and watched. */
export function Update() {
  const { job: nameOrId } = route.useParams();
  const jobs = useJobs();
  return (
    <Loaded query={jobs} height={400}>
      {(all) => {
        const job = jobNamed(all, nameOrId);
        if (!job) return <NoJob name={nameOrId} />;
        return <UpdateOf key={job.id} job={job} />;
      }}
    </Loaded>
  );
}

function NoJob({ name }: { name: string }) {
  return (
    <Stack>
      <Title order={1} size="h2" className="breaks">
        Update {name}
      </Title>
      <Empty title="There is no job of that name or id" command="pitstop list-jobs -a" />
    </Stack>
  );
}

function UpdateOf({ job }: { job: Job }) {
  const events = useJobEvents(job.id);
  return (
    <Stack>
      <Group gap="sm">
        <Title order={1} size="h2" className="breaks">
          Update <JobLink job={job} />
        </Title>
        <StateChip state={job.display_status} />
        <Text c="dimmed">version {job.version}</Text>
      </Group>
      <Loaded query={events} height={400}>
        {(known) => <Steps job={job} events={known} />}
      </Loaded>
    </Stack>
  );
}

function Steps({ job, events }: { job: Job; events: JobEvent[] }) {
  const [remembered, remember] = useRemembered(job.id);
  const { ask, request } = useUpdate(job);
  const last = lastOutcome(events);
  const lies = job.updating && job.status === "SUSPENDED" && !job.termination && last?.version === job.version;
  const underWay = job.updating && !lies;
  // Another reader, or another door, may have begun it, and may begin one more.
  const begin = beginOf(events);
  const unseen = underWay && (remembered === null || (remembered.after < begin && request?.status !== "pending"));
  // biome-ignore lint/correctness/useExhaustiveDependencies: only once for each update that nobody here has asked for
  useEffect(() => {
    if (unseen) {
      remember({ after: begin, watchSeconds: 0, suspended: job.status === "SUSPENDED", previous: job.version });
    }
  }, [unseen, begin]);
  if (remembered) {
    const own = request?.variables?.after === remembered.after ? request : null;
    return (
      <ChangeOverPanel job={job} events={events} remembered={remembered} request={own} onDone={() => remember(null)} />
    );
  }
  return (
    <>
      {lies && (
        <Notice color={SIGNAL.attention} title={`Version ${job.version} lies ready`}>
          It starts when the job is resumed. Another update now takes its place.
        </Notice>
      )}
      {last && !lies && (
        <Text size="sm" c="dimmed" className="breaks">
          Last update <When at={last.at} />:{" "}
          {last.error
            ? `version ${last.version} did not come: ${last.error}`
            : `version ${last.previous} to version ${last.version}${last.gap_seconds === null ? "" : `, after a gap of ${last.gap_seconds.toFixed(1)} s`}.`}
        </Text>
      )}
      <NewVersion
        job={job}
        saved={lies && last ? last.previous : job.version}
        onRun={(asked) => {
          const after = events.at(-1)?.sequence ?? 0;
          const suspended = job.status === "SUSPENDED" || job.status === "FAILED";
          remember({ after, watchSeconds: asked.watchSeconds, suspended, previous: job.version });
          ask({ ...asked, after });
        }}
      />
    </>
  );
}
