import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { parsedExactly } from "../../../logic/exactJson";
import { ActionButton } from "../../../parts/ActionButton";
import { CopyAs } from "../../../parts/CopyAs";
import { ProblemAlert } from "../../../parts/Trouble";
import { useAction } from "../../../parts/useAction";
import { putCommand } from "../commands";
import { DifferenceTable } from "../values/DifferenceTable";
import { differences } from "../values/difference";
import { jsonFault } from "../values/jsonText";
import { isConflict, readEntry, type StoredEntry, writeEntry } from "./calls";
import { JsonEditor } from "./JsonEditor";
import { standingOf } from "./standing";

type Props = {
  map: string;
  /** As it was when one began to write. */
  entry: StoredEntry;
  /** As it is now; null if it was deleted meanwhile. */
  stored: StoredEntry | null;
  onSaved: () => void;
  /** What is known of the entry is not what is there. */
  onStale: () => void;
  onClose: () => void;
};

/** Changes a value. What somebody else has done meanwhile is shown beside it, and never written over unseen. */
export function EntryEditor({ map, entry, stored, onSaved, onStale, onClose }: Props) {
  const [text, setText] = useState(entry.text);
  const [base, setBase] = useState(entry);
  const standing = standingOf(base, stored);
  const deleted = standing === "deleted";
  const expected = deleted ? 0 : base.version;
  const save = useAction({
    mutationFn: () => writeEntry(map, entry.key, text, expected),
    onSuccess: onSaved,
    onError: (error) => {
      if (isConflict(error)) onStale();
    },
  });
  const theirs = useAction({ mutationFn: () => readEntry(map, entry.key), onSuccess: setBase, onError: onStale });
  const fault = jsonFault(text);
  const refused = fault
    ? `This cannot be saved yet. ${fault}`
    : !deleted && text.trim() === base.text
      ? "Nothing is changed yet."
      : null;
  const conflict = isConflict(save.error);
  const readAnew = () => theirs.mutate(undefined, { onSuccess: () => save.reset() });
  return (
    <Stack gap="sm">
      <JsonEditor
        label={deleted ? "Value of the new entry" : `New value, over version ${base.version}`}
        text={text}
        onChange={setText}
      />
      {deleted && (
        <Alert color="orange" variant="outline" title="This entry was deleted meanwhile" role="status">
          <Text size="sm">
            You began with version {base.version}, which is gone: somebody has deleted it, or it has expired. What you
            wrote can be saved as a new entry of the same key.
          </Text>
        </Alert>
      )}
      {!deleted && (standing === "newer" || conflict) && (
        <Alert color="orange" variant="outline" title="Somebody else writes this entry, too" role="status">
          <Text size="sm">
            You began with version {base.version}
            {standing === "newer" && stored ? `; it is version ${stored.version} now` : ""}. It cannot be saved over
            what you have not seen.
          </Text>
          <Button mt="xs" size="xs" variant="default" loading={theirs.isPending} onClick={readAnew}>
            Read anew, keep what I wrote
          </Button>
        </Alert>
      )}
      {stored && <Changes stored={stored} mine={text} />}
      {save.error && !(deleted && conflict) && <ProblemAlert error={save.error} />}
      {theirs.error && !deleted && <ProblemAlert error={theirs.error} />}
      <Group justify="flex-end">
        <CopyAs command={putCommand(map, entry.key, text, expected)} label="saving this value" />
        <Button variant="default" onClick={() => setText(base.text)} disabled={text === base.text}>
          Take version {base.version}
        </Button>
        <Button variant="default" onClick={onClose}>
          Change nothing
        </Button>
        <ActionButton refused={refused} loading={save.isPending} onClick={() => save.mutate()}>
          {deleted ? "Save it as a new entry" : "Save value"}
        </ActionButton>
      </Group>
    </Stack>
  );
}

/** What is stored now, and what would be. */
function Changes({ stored, mine }: { stored: StoredEntry; mine: string }) {
  if (jsonFault(mine)) return null;
  const found = differences(parsedExactly(stored.text), parsedExactly(mine), 50);
  if (!found.length) return null;
  return (
    <DifferenceTable label="What saving changes" found={found} heads={[`Stored, version ${stored.version}`, "Yours"]} />
  );
}
