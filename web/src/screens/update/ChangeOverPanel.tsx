import { Button, Group, Paper, Stack, Text, Timeline, Title, VisuallyHidden } from "@mantine/core";
import { IconCheck, IconX } from "@tabler/icons-react";
import { type ReactNode, useEffect, useRef } from "react";
import { type Job, type JobEvent, ProblemError } from "../../api/client";
import { count, duration } from "../../logic/format";
import { PlaceLink } from "../../parts/links";
import { ReportTable } from "../../parts/ReportTable";
import { type AnyReport, isRefused } from "../../parts/report";
import { ProblemAlert } from "../../parts/Trouble";
import { SIGNAL } from "../../parts/theme";
import { Notice } from "../../parts/version/Notice";
import { useNow } from "../../parts/When";
import { type ChangeOver, changeOver, failedSince } from "./changeOver";
import { RollBackButton } from "./RollBackButton";
import type { Remembered } from "./remembered";
import { StepBody, StepTitle } from "./StepWords";
import { announcement, type Step, stepsOf, watchedUntil } from "./steps";
import { useProof } from "./useProof";
import type { UpdateRequest } from "./useUpdate";

type Props = {
  job: Job;
  events: JobEvent[];
  remembered: Remembered;
  /** The request of this tab; null if another one, or another door, has asked. */
  request: UpdateRequest | null;
  onDone: () => void;
};

const SIGNS = { done: <IconCheck size={14} />, failed: <IconX size={14} />, now: null, "to come": null };
const COLORS = { done: SIGNAL.good, failed: SIGNAL.bad, now: SIGNAL.busy, "to come": SIGNAL.quiet };

/** An update from the moment it was asked for until its outcome stands, as it happens. */
export function ChangeOverPanel({ job, events, remembered, request, onDone }: Props) {
  const now = useNow();
  const found = changeOver(events, remembered.after, job);
  const proof = useProof(job.id, remembered.suspended ? null : found.stopped);
  const refused = found.phase === "none" && request?.status === "error" ? request.error : null;
  const waiting = request?.status === "pending";
  const vanished = found.phase === "none" && !refused && !waiting && !job.updating;
  const until = watchedUntil(found, remembered.watchSeconds);
  const watched = until !== null && until > now;
  const over = found.phase === "failed" || (found.phase === "up" && !watched) || refused !== null || vanished;
  const steps = stepsOf(found, remembered, now);
  useForgetting(over, onDone);
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="change-over">
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h4" id="change-over">
            {heading(found, over, failedSince(found, job) !== null)}
          </Title>
          {over ? (
            <Button variant="default" onClick={onDone}>
              Update once more
            </Button>
          ) : (
            <RollBackButton job={job} refused={noWayBack(found, job)} />
          )}
        </Group>
        <VisuallyHidden role="status">{refused || vanished ? "" : announcement(found, remembered)}</VisuallyHidden>
        {refused !== null && <Refused error={refused} />}
        {vanished && (
          <Notice color={SIGNAL.attention} title="It ended before the old version stopped">
            The new version was refused, or was taken back: version {remembered.previous} goes on.
          </Notice>
        )}
        {refused === null && !vanished && (
          <>
            <Timeline active={activeOf(steps)} bulletSize={24} lineWidth={2} color={SIGNAL.good}>
              {steps.map((step) => (
                <Timeline.Item
                  key={step.id}
                  bullet={SIGNS[step.state]}
                  color={COLORS[step.state]}
                  title={<StepTitle step={step} remembered={remembered} />}
                  data-step={step.id}
                  data-state={step.state}
                >
                  <StepBody
                    step={step}
                    job={job}
                    found={found}
                    remembered={remembered}
                    proof={proof}
                    until={until}
                    now={now}
                  />
                </Timeline.Item>
              ))}
            </Timeline>
            <Outcome
              job={job}
              found={found}
              remembered={remembered}
              lastRows={proof?.last?.rows}
              firstRows={proof?.first?.rows}
            />
          </>
        )}
      </Stack>
    </Paper>
  );
}

/** Who has seen the outcome finds the form when they come back. */
function useForgetting(over: boolean, onDone: () => void) {
  const latest = useRef({ over, onDone });
  latest.current = { over, onDone };
  useEffect(
    () => () => {
      if (latest.current.over) latest.current.onDone();
    },
    [],
  );
}

function Refused({ error }: { error: unknown }) {
  const report = error instanceof ProblemError ? (error.details.report as AnyReport | undefined) : undefined;
  return (
    <>
      <ProblemAlert error={error} />
      {report && isRefused(report) && <ReportTable report={report} />}
    </>
  );
}

function Outcome(props: {
  job: Job;
  found: ChangeOver;
  remembered: Remembered;
  lastRows: number | null | undefined;
  firstRows: number | null | undefined;
}) {
  const { job, found, remembered, lastRows, firstRows } = props;
  if (found.phase === "failed") {
    return (
      <Notice role="alert" color="red" icon={<IconX />} title={`Version ${remembered.previous} goes on`}>
        <Text className="breaks" style={{ whiteSpace: "pre-wrap" }}>
          {found.error}
        </Text>
        <Text mt="xs">
          {job.config.processing_guarantee !== "none" &&
            `It goes on from the epoch with which version ${remembered.previous} had stopped. `}
          <JobTab job={job} tab="log">
            Look into the log
          </JobTab>
        </Text>
      </Notice>
    );
  }
  if (found.phase !== "up") return null;
  const failure = failedSince(found, job);
  if (failure !== null) {
    return (
      <>
        <Notice
          role="alert"
          color="red"
          icon={<IconX />}
          title={`Version ${found.version} came up, and has failed since`}
        >
          <Text className="breaks" style={{ whiteSpace: "pre-wrap" }}>
            {failure}
          </Text>
          <Text mt="xs">
            Its state is kept.{" "}
            <JobTab job={job} tab="log">
              Look into the log
            </JobTab>
            , go back to version {remembered.previous} under{" "}
            <JobTab job={job} tab="versions">
              Versions
            </JobTab>
            , or update it once more.
          </Text>
        </Notice>
        {found.report && <ReportTable report={found.report} label="What became of each stage's state" />}
      </>
    );
  }
  return (
    <>
      <Notice
        color="green"
        icon={<IconCheck />}
        title={
          remembered.suspended
            ? `Version ${found.version} lies ready: it starts when the job is resumed`
            : `Version ${found.version} runs, after a gap of ${duration((found.gapSeconds ?? Number.NaN) * 1000)}`
        }
      >
        {remembered.suspended ? (
          <Text>Its state is that in which the job was suspended.</Text>
        ) : (
          <Text>
            {guaranteed(job, remembered.previous)}
            {lastRows != null && firstRows != null && (
              <>
                {" "}
                Rows read since the job was submitted: {count(lastRows)} before the gap, {count(firstRows)} with the
                first epoch behind it.
              </>
            )}
          </Text>
        )}
      </Notice>
      {found.report && <ReportTable report={found.report} label="What became of each stage's state" />}
    </>
  );
}

function JobTab({ job, tab, children }: { job: Job; tab: string; children: ReactNode }) {
  return (
    <PlaceLink to="/jobs/$job" params={{ job: job.id }} search={{ tab }} inherit>
      {children}
    </PlaceLink>
  );
}

/** Why the old version cannot be gone back to at this moment. */
function noWayBack(found: ChangeOver, job: Job): string | null {
  if (found.phase === "stopping") return "The old version ends its last epoch: it can be gone back to in a moment.";
  return found.phase === "none" && !job.updating ? "The update has not begun yet." : null;
}

function guaranteed(job: Job, previous: number): string {
  const { processing_guarantee: guarantee } = job.config;
  if (guarantee === "none") return "Its guarantee is none: what came in the gap may be missing.";
  const once = guarantee === "exactly_once" ? ", each row once" : "";
  return `Sources that both versions have went on where version ${previous} had stopped: what came in the gap is read now${once}.`;
}

function heading(found: ChangeOver, over: boolean, failed: boolean): string {
  if (failed) return "The new version has failed";
  if (!over) return "The change-over";
  if (found.phase === "failed") return "The update was rolled back";
  return found.phase === "up" ? "The update is done" : "The update did not come about";
}

/** How far the line of the picture is drawn. */
function activeOf(steps: Step[]): number {
  const now = steps.findIndex((step) => step.state !== "done");
  return now === -1 ? steps.length - 1 : now;
}
