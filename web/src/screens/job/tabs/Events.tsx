import { Button, Group, Loader, Stack, Text, TextInput, Timeline } from "@mantine/core";
import { IconArrowBackUp, IconArrowRight, IconCamera, IconCameraOff, IconUpload, IconX } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import type { Job, JobEvent } from "../../../api/client";
import { bytes, count, duration } from "../../../logic/format";
import { hasWords, wordsOf } from "../../../logic/search";
import { PlaceLink } from "../../../parts/links";
import { ReportTable } from "../../../parts/ReportTable";
import { StateChip } from "../../../parts/StateChip";
import { ProblemAlert } from "../../../parts/Trouble";
import { When } from "../../../parts/When";
import { useJobEvents } from "../api/events";
import { Folded, Trace } from "../Folded";
import { eventText } from "../logic/eventText";

const SHOWN = 100;

/** What happened to a job, the newest first. */
export function Events({ job }: { job: Job }) {
  const { known, error } = useJobEvents(job);
  const [shown, setShown] = useState(SHOWN);
  const [query, setQuery] = useState("");
  if (!known) return error ? <ProblemAlert error={error} /> : <Loader aria-label="Loading" />;
  const words = wordsOf(query);
  const newest = known.events.filter((event) => hasWords(eventText(event), words)).toReversed();
  return (
    <Stack>
      {known.events.length > 1 && (
        <TextInput
          label="Only with these words"
          placeholder="failed, snapshot, version 3 …"
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
          w={360}
          maw="100%"
        />
      )}
      {error !== null && <ProblemAlert error={error} />}
      {newest.length === 0 && (
        <Text>{known.events.length ? "No event has these words." : "Nothing has happened to this job yet."}</Text>
      )}
      <Timeline bulletSize={26} lineWidth={2} active={-1} aria-label="Events">
        {newest.slice(0, shown).map((event) => (
          <Timeline.Item key={event.sequence} bullet={bulletOf(event)}>
            <OneEvent event={event} />
          </Timeline.Item>
        ))}
      </Timeline>
      {newest.length > shown && (
        <Button variant="default" w="fit-content" onClick={() => setShown(shown + SHOWN)}>
          {`${count(Math.min(SHOWN, newest.length - shown))} earlier events`}
        </Button>
      )}
      {known.lost > 0 && newest.length <= shown && (
        <Text size="sm" c="dimmed">
          {count(known.lost)} events before these are kept no more.
        </Text>
      )}
    </Stack>
  );
}

function bulletOf(event: JobEvent): ReactNode {
  if (event.kind === "snapshot") return event.error ? <IconCameraOff size={14} /> : <IconCamera size={14} />;
  if (event.kind === "update") return event.error ? <IconArrowBackUp size={14} /> : <IconUpload size={14} />;
  return (event.display_new ?? event.new) === "FAILED" || event.trace ? (
    <IconX size={14} />
  ) : (
    <IconArrowRight size={14} />
  );
}

function OneEvent({ event }: { event: JobEvent }) {
  return (
    <Stack gap={4}>
      {event.kind === "state" ? (
        <State event={event} />
      ) : event.kind === "update" ? (
        <Update event={event} />
      ) : (
        <Taken event={event} />
      )}
      <Text size="xs" c="dimmed">
        <When at={event.at} />
      </Text>
    </Stack>
  );
}

function State({ event }: { event: Extract<JobEvent, { kind: "state" }> }) {
  return (
    <>
      <Group gap="xs">
        <StateChip state={event.display_previous ?? event.previous} />
        <IconArrowRight size={14} aria-label="to" role="img" />
        <StateChip state={event.display_new ?? event.new} />
        <Text size="sm">{event.user_requested ? "asked for by a user" : "by itself"}</Text>
      </Group>
      <Reason text={event.reason} />
      {event.trace && <Trace text={event.trace} label="Stack trace" />}
    </>
  );
}

function Update({ event }: { event: Extract<JobEvent, { kind: "update" }> }) {
  return (
    <>
      <Text size="sm" fw={600}>
        {event.error
          ? `The update to version ${event.version} failed; version ${event.previous} stays`
          : `Updated from version ${event.previous} to version ${event.version}`}
      </Text>
      {event.error && <Reason text={event.error} />}
      {event.gap_seconds !== null && event.gap_seconds !== undefined && (
        <Text size="sm">
          Gap: {duration(event.gap_seconds * 1000)} from the last epoch of the old version to the first of the new one.
        </Text>
      )}
      {event.report && (
        <Folded label="What became of each stage's state">
          <ReportTable report={event.report} />
        </Folded>
      )}
    </>
  );
}

function Taken({ event }: { event: Extract<JobEvent, { kind: "snapshot" }> }) {
  if (event.error || !event.snapshot) {
    return (
      <>
        <Text size="sm" fw={600}>
          No snapshot could be taken
        </Text>
        <Reason text={event.error ?? ""} />
      </>
    );
  }
  return (
    <Text size="sm" className="breaks">
      Snapshot{" "}
      <PlaceLink to="/snapshots/$snapshot" params={{ snapshot: event.snapshot }} inherit>
        {event.snapshot}
      </PlaceLink>{" "}
      taken of epoch {count(event.epoch)}: {bytes(event.bytes)}
    </Text>
  );
}

const LONG = 400;

function Reason({ text }: { text: string }) {
  const long = text.length > LONG;
  return (
    <>
      <Text size="sm" className="breaks" style={{ whiteSpace: "pre-wrap" }}>
        {long ? `${text.slice(0, LONG)}…` : text}
      </Text>
      {long && <Trace text={text} />}
    </>
  );
}
