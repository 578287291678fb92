import { Checkbox, NumberInput, Radio, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { answered, api, type Job, type JobVersion } from "../../../api/client";
import { useAsked } from "../api/act";
import { type GoBack, goBackCommand } from "../commands";
import { ActionForm } from "./ActionForm";

type Props = { job: Job; version: JobVersion; refused: string | null; onClose: () => void; onDone: () => void };

/** What a version can start from, and what that means. */
const STARTS: { value: GoBack["state"]; label: string; description: string }[] = [
  {
    value: "present",
    label: "The present state",
    description: "No event is missed. It must have all that the version keeps and reads.",
  },
  {
    value: "snapshot",
    label: "Its own snapshot",
    description: "The latest that was taken of it, such as by the update away from it. What came since is read again.",
  },
  {
    value: "empty",
    label: "The present state, and what that lacks empty",
    description: "Stages that it has not start empty, and sources that it has not are read from their beginning.",
  },
];

/** Updates a job to the code, arguments and options of an earlier version. */
export function GoBackForm({ job, version, refused, onClose, onDone }: Props) {
  const [seconds, setSeconds] = useState(0);
  const [state, setState] = useState<GoBack["state"]>("present");
  const [writeAgain, setWriteAgain] = useState(false);
  const [allowDrop, setAllowDrop] = useState(false);
  const [allowShared, setAllowShared] = useState(false);
  const body = {
    watch_seconds: seconds,
    options: { ...(allowDrop ? { allow_drop: true } : {}), ...(allowShared ? { allow_shared: true } : {}) },
    state,
    write_again: writeAgain,
  };
  const mutation = useAsked(
    () =>
      answered(
        api.POST("/api/v1/jobs/{job}/versions/{version}/go-back", {
          params: { path: { job: job.id, version: version.number } },
          body,
        }),
      ),
    onDone,
  );
  return (
    <ActionForm
      title={`Go back to version ${version.number}`}
      refused={refused}
      onClose={onClose}
      does={`Go back to version ${version.number}`}
      doing="Going back…"
      keeps={`Keep version ${job.version}`}
      mutation={mutation}
      command={goBackCommand(job, version.number, seconds, body)}
    >
      <Text>
        <bdi className="breaks">{job.name ?? job.id}</bdi> is updated to the code, arguments and options of version{" "}
        {version.number} ({version.artifact}), as version {job.version + 1}. If the state does not fit, that is refused
        and version {job.version} goes on.
      </Text>
      <Radio.Group
        label="What it starts from"
        value={state}
        onChange={(value) => setState(STARTS.find((start) => start.value === value)?.value ?? "present")}
      >
        <Stack gap="xs" mt="xs">
          {STARTS.map((start) => (
            <Radio key={start.value} {...start} />
          ))}
        </Stack>
      </Radio.Group>
      <Checkbox
        label="Allow that present state is dropped"
        description="Of stages and sources that it does not have."
        checked={allowDrop}
        onChange={(event) => setAllowDrop(event.currentTarget.checked)}
      />
      <Checkbox
        label="Allow that rows are written again"
        description="Into sinks that have them already: files get them doubled."
        checked={writeAgain}
        onChange={(event) => setWriteAgain(event.currentTarget.checked)}
      />
      <Checkbox
        label="Allow that it writes where another active job writes"
        description="Both jobs' rows then come into one folder or map."
        checked={allowShared}
        onChange={(event) => setAllowShared(event.currentTarget.checked)}
      />
      <NumberInput
        label="Watch it for so many seconds"
        description={`If it fails within that time, version ${job.version} comes back by itself. 0: it is not watched.`}
        value={seconds}
        onChange={(value) => setSeconds(Math.max(0, Number(value) || 0))}
        min={0}
        max={604_800}
        step={10}
      />
    </ActionForm>
  );
}
