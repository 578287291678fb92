/** The steps of a change-over in words, with what is known of each. */
import { Progress, Text } from "@mantine/core";
import type { Job } from "../../api/client";
import { bytes, count, duration, rate } from "../../logic/format";
import { PlaceLink } from "../../parts/links";
import { Clock } from "./Clock";
import type { ChangeOver } from "./changeOver";
import type { Epoch, Proof } from "./proof";
import type { Remembered } from "./remembered";
import { Stopwatch } from "./Stopwatch";
import type { Step } from "./steps";

/** What happens in this step. */
export function StepTitle({ step, remembered }: { step: Step; remembered: Remembered }) {
  const { previous, suspended, watchSeconds } = remembered;
  const words: Record<Step["id"], string> = {
    ready: "The new version is made ready",
    last: suspended ? "The saved state is exported" : `Version ${previous} ends its last epoch, and its state is saved`,
    gap: "Gap",
    first: suspended ? "The new version lies ready" : "The first epoch of the new version",
    watch: `Watched for ${duration(watchSeconds * 1000)}`,
  };
  const state = { done: "done", now: "under way", "to come": "to come", failed: "failed" }[step.state];
  return (
    <Text fw={step.state === "now" ? 700 : 500} c={step.state === "to come" ? "dimmed" : undefined}>
      {words[step.id]}
      <Text span size="sm" c="dimmed">
        {" "}
        · {state}
      </Text>
    </Text>
  );
}

type BodyProps = {
  step: Step;
  job: Job;
  found: ChangeOver;
  remembered: Remembered;
  proof: Proof | undefined;
  /** Until when it is watched, in milliseconds. */
  until: number | null;
  now: number;
};

/** What is known of this step. */
export function StepBody(props: BodyProps) {
  const { step } = props;
  if (step.state === "to come") return null;
  const Body = { ready: Ready, last: Last, gap: Gap, first: First, watch: Watch }[step.id];
  return (
    <Text component="div" size="sm" className="breaks">
      <Body {...props} />
    </Text>
  );
}

function Ready({ step, job, remembered }: BodyProps) {
  if (step.state === "failed") return <>It never came to the change.</>;
  if (step.state === "done") return <>Compiled, and compared with what is saved.</>;
  if (remembered.suspended) return <>It is compiled, and compared with what is saved. The job stays suspended.</>;
  const { epoch, rows_per_second } = job.progress;
  return (
    <>
      Version {remembered.previous} goes on meanwhile, and all that it does counts: epoch{" "}
      <b className="figure">{count(epoch)}</b>, <span className="figure">{rate(rows_per_second)}</span> rows.
    </>
  );
}

function Last({ step, found, proof, remembered }: BodyProps) {
  const { snapshot } = found;
  if (step.state === "failed") return <>{snapshot?.error ?? "It could not be saved."}</>;
  if (!snapshot?.snapshot) return <>It takes as long as an epoch does, and its files.</>;
  return (
    <>
      {!remembered.suspended && (
        <>
          Last epoch <b className="figure">{count(snapshot.epoch)}</b>
          <EpochWords epoch={proof?.last} />, stopped at <Clock at={found.stopped} />.{" "}
        </>
      )}
      Snapshot{" "}
      <PlaceLink to="/snapshots/$snapshot" params={{ snapshot: snapshot.snapshot }} inherit underline="always">
        {snapshot.snapshot}
      </PlaceLink>
      , {bytes(snapshot.bytes)}.
    </>
  );
}

function Gap({ step, found }: BodyProps) {
  if (step.state === "now" && found.stopped) {
    return (
      <>
        <Stopwatch since={found.stopped} />
        <br />
        The sources keep what comes meanwhile; the new version reads on from the saved offsets.
      </>
    );
  }
  if (found.gapSeconds === null) return <>It ended with the old version.</>;
  return (
    <>
      <b className="figure">{duration(found.gapSeconds * 1000)}</b> from the last epoch of the old version to the first
      of the new one.
    </>
  );
}

function First({ step, found, proof, remembered }: BodyProps) {
  if (step.state === "failed") return <>The new version has failed before its first epoch.</>;
  if (remembered.suspended) return <>It starts when the job is resumed.</>;
  return (
    <>
      Version {found.version ?? remembered.previous + 1} was up at <Clock at={found.up} />.
      {proof?.first && (
        <>
          {" "}
          First epoch <b className="figure">{count(proof.first.epoch)}</b>
          <EpochWords epoch={proof.first} />.
        </>
      )}
    </>
  );
}

function Watch({ step, remembered, until, now }: BodyProps) {
  if (step.state === "failed") return <>It has failed, or was taken back.</>;
  if (step.state === "done" || until === null) return <>It has gone well.</>;
  const left = Math.max(0, until - now);
  return (
    <>
      If it fails before <Clock at={new Date(until).toISOString()} />, version {remembered.previous} comes back by
      itself: <span className="figure">{duration(Math.ceil(left / 1000) * 1000)}</span> to go.
      <Progress
        mt={6}
        maw={360}
        value={100 - (100 * left) / (remembered.watchSeconds * 1000)}
        aria-label="How much of the time of watching is over"
      />
    </>
  );
}

function EpochWords({ epoch }: { epoch: Epoch | null | undefined }) {
  if (!epoch || epoch.rows === null) return null;
  return <span className="figure"> ({count(epoch.rows)} rows read in all)</span>;
}
