import { ActionIcon, Alert, Badge, Code, CopyButton, Group, Loader, Stack, Text, Title, Tooltip } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconCopy, IconInfoCircle } from "@tabler/icons-react";
import { type ReactNode, useMemo } from "react";
import type { Job } from "../../api/client";
import { useSnapshots } from "../../api/queries";
import { duration } from "../../logic/format";
import { PlaceLink } from "../../parts/links";
import { StateChip } from "../../parts/StateChip";
import { useNow, When } from "../../parts/When";
import { Trace } from "./Folded";
import classes from "./job.module.css";
import { causesOf } from "./logic/cause";
import { modeWords } from "./logic/modes";
import { snapshotsOf } from "./logic/snapshots";

/** What a job is, how it is, and why. */
export function Header({ job }: { job: Job }) {
  const snapshots = useSnapshots().data;
  const newest = useMemo(() => snapshotsOf(job, snapshots ?? [])[0], [job, snapshots]);
  const under = job.termination ? modeWords(job.termination) : null;
  return (
    <Stack gap="sm">
      <Group gap="sm" align="center">
        <Title order={1} size="h2" className={classes.name} dir="auto">
          {job.name ?? job.id}
        </Title>
        <StateChip state={job.display_status} />
        {job.updating && (
          <Badge variant="outline" color="var(--mantine-color-text)" radius="sm" tt="none">
            updating
          </Badge>
        )}
        <Group gap={6} role="status">
          {under && (
            <>
              <Loader size={14} aria-hidden="true" />
              <Text size="sm">{under}</Text>
            </>
          )}
        </Group>
      </Group>
      <dl className={classes.facts}>
        <Fact term="Id">
          <Code>{job.id}</Code>
          <CopyButton value={job.id}>
            {({ copied, copy }) => (
              <ActionIcon
                size="sm"
                variant="subtle"
                color="gray"
                onClick={copy}
                aria-label={copied ? "Copied" : "Copy the id"}
              >
                {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
              </ActionIcon>
            )}
          </CopyButton>
        </Fact>
        <Fact term="Version:">{job.version}</Fact>
        <Fact term="Nodes in use:">
          <Nodes job={job} />
        </Fact>
        <Fact term="Last snapshot:">
          {newest ? (
            <PlaceLink to="/snapshots/$snapshot" params={{ snapshot: newest.name }} inherit>
              <When at={newest.created} />
            </PlaceLink>
          ) : (
            "none"
          )}
        </Fact>
        <Fact term="Up for:">
          <Uptime job={job} />
        </Fact>
        <Fact term="Submitted:">
          <When at={job.submission_time} />
        </Fact>
        {job.completion_time && (
          <Fact term="Ended:">
            <When at={job.completion_time} />
          </Fact>
        )}
        {job.due && (
          <Fact term="Starts again:">
            <When at={job.due} />
          </Fact>
        )}
      </dl>
      {job.updating && (
        <Alert variant="outline" color="blue" icon={<IconInfoCircle />} title="A new version was asked for">
          {job.status === "SUSPENDED"
            ? "It starts when the job is resumed."
            : "The job goes over to it once it is ready."}{" "}
          <PlaceLink to="/jobs/$job/update" params={{ job: job.id }} inherit>
            Watch the update
          </PlaceLink>
        </Alert>
      )}
      {causesOf(job).map((cause) => (
        <Alert
          key={cause.title}
          variant="outline"
          color={cause.grave ? "red" : "gray"}
          icon={cause.grave ? <IconAlertTriangle /> : <IconInfoCircle />}
          title={cause.title}
        >
          <Text size="sm" className="breaks" style={{ whiteSpace: "pre-wrap" }}>
            {cause.text}
            {cause.removedAt && (
              <>
                {" "}
                Its state is removed <When at={cause.removedAt} />.
              </>
            )}
          </Text>
          {cause.details && <Trace text={cause.details} />}
        </Alert>
      ))}
    </Stack>
  );
}

function Fact({ term, children }: { term: string; children: ReactNode }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>
        <Group gap={4} wrap="nowrap">
          {children}
        </Group>
      </dd>
    </div>
  );
}

function Nodes({ job }: { job: Job }) {
  const active = job.status === "RUNNING" || job.status === "STARTING";
  const members = active ? job.placement?.members.length : undefined;
  if (members !== undefined) {
    return (
      <Tooltip label={`${job.placement?.cores} cores`}>
        <span>{members}</span>
      </Tooltip>
    );
  }
  return <span>{active ? "the server's machine" : "–"}</span>;
}

function Uptime({ job }: { job: Job }) {
  const now = useNow();
  const running = job.status === "RUNNING" && job.start_time;
  return <span>{duration(running ? now - Date.parse(job.start_time ?? "") : null)}</span>;
}
