import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { ActionButton } from "../../../parts/ActionButton";
import { CopyAs } from "../../../parts/CopyAs";
import { ProblemAlert } from "../../../parts/Trouble";
import { useAction } from "../../../parts/useAction";
import { putCommand } from "../commands";
import { DifferenceTable } from "../values/DifferenceTable";
import { differences } from "../values/difference";
import { jsonFault, parsedExactly } from "../values/jsonText";
import { isConflict, readEntry, type StoredEntry, writeEntry } from "./calls";
import { JsonEditor } from "./JsonEditor";

type Props = {
  map: string;
  /** As it was when one began to write. */
  entry: StoredEntry;
  /** As it is now. */
  stored: StoredEntry;
  onSaved: () => void;
  onClose: () => void;
};

/** Changes a value. What somebody else has written meanwhile is shown beside it, and never written over unseen. */
export function EntryEditor({ map, entry, stored, onSaved, onClose }: Props) {
  const [text, setText] = useState(entry.text);
  const [base, setBase] = useState(entry);
  const save = useAction({
    mutationFn: () => writeEntry(map, entry.key, text.trim(), base.version),
    onSuccess: onSaved,
  });
  const theirs = useAction({ mutationFn: () => readEntry(map, entry.key), onSuccess: setBase });
  const fault = jsonFault(text);
  const newer = stored.version !== base.version;
  const refused = fault
    ? `This is no JSON yet. ${fault}`
    : text.trim() === base.text
      ? "Nothing is changed yet."
      : null;
  const readAnew = () => theirs.mutate(undefined, { onSuccess: () => save.reset() });
  return (
    <Stack gap="sm">
      <JsonEditor label={`New value, over version ${base.version}`} text={text} onChange={setText} />
      {(newer || isConflict(save.error)) && (
        <Alert color="orange" variant="outline" title="Somebody else writes this entry, too" role="status">
          <Text size="sm">
            You began with version {base.version}
            {newer ? `; it is version ${stored.version} now` : ""}. It cannot be saved over what you have not seen.
          </Text>
          <Button mt="xs" size="xs" variant="default" loading={theirs.isPending} onClick={readAnew}>
            Read anew, keep what I wrote
          </Button>
        </Alert>
      )}
      <Changes stored={stored} mine={text} />
      {save.error && <ProblemAlert error={save.error} />}
      {theirs.error && <ProblemAlert error={theirs.error} />}
      <Group justify="flex-end">
        <CopyAs command={putCommand(map, entry.key, text, base.version)} label="saving this value" />
        <Button variant="default" onClick={() => setText(base.text)} disabled={text === base.text}>
          Take version {base.version}
        </Button>
        <Button variant="default" onClick={onClose}>
          Change nothing
        </Button>
        <ActionButton refused={refused} loading={save.isPending} onClick={() => save.mutate()}>
          Save value
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
