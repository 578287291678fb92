import { Fieldset, Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Job } from "../../api/client";
import { ActionButton } from "../../parts/ActionButton";
import { artifactCurl } from "../../parts/artifact";
import { CopyAs } from "../../parts/CopyAs";
import type { Draft } from "../../parts/version/draft";
import classes from "../../parts/version/update.module.css";
import { useViewerRefusal } from "../../parts/viewer";
import { type UpdateAsked, updateCommand } from "./useUpdate";

const WATCHES = [
  { value: "0", label: "Not: once it is up, it stays" },
  { value: "30", label: "30 seconds" },
  { value: "60", label: "1 minute" },
  { value: "300", label: "5 minutes" },
  { value: "900", label: "15 minutes" },
  { value: "3600", label: "1 hour" },
];

type Props = {
  job: Job;
  draft: Draft;
  refused: string | null;
  onRun: (asked: Omit<UpdateAsked, "after">) => void;
};

/** How the new version comes in the place of the old one. */
export function RunForm({ job, draft, refused, onRun }: Props) {
  const viewer = useViewerRefusal();
  const [snapshot, setSnapshot] = useState("");
  const [watch, setWatch] = useState("0");
  const asked = { draft, snapshot: snapshot.trim(), watchSeconds: Number(watch) };
  const command = updateCommand(job, asked);
  const suspended = job.status === "SUSPENDED" || job.status === "FAILED";
  return (
    <Stack>
      <Fieldset variant="unstyled" disabled={viewer !== null} className={classes.fields}>
        <TextInput
          label="Snapshot of the old version"
          description="It is taken where the old version ends. One of that name is replaced."
          placeholder={`${job.name ?? job.id}-before-${job.version + 1}`}
          value={snapshot}
          onChange={(event) => setSnapshot(event.currentTarget.value)}
        />
        <NativeSelect
          label="Watch the new version"
          description="If it fails so soon after its start, the old one comes back."
          data={WATCHES}
          value={watch}
          onChange={(event) => setWatch(event.currentTarget.value)}
        />
      </Fieldset>
      <Text size="sm" c="dimmed">
        {suspended
          ? "The job stays suspended, and starts with the new version when it is resumed."
          : "The old version goes on until the new one is ready. Then it ends its epoch, its state is saved, and the new one starts from it. The old one comes back if the new one fails before its first epoch."}
      </Text>
      <Group gap={4}>
        <ActionButton refused={refused} onClick={() => onRun(asked)}>
          Update to version {job.version + 1}
        </ActionButton>
        <CopyAs
          label="the update"
          command={command}
          curl={artifactCurl(draft.artifact, command, window.location.origin)}
        />
      </Group>
    </Stack>
  );
}
