import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { ActionButton } from "../../../parts/ActionButton";
import { CopyAs } from "../../../parts/CopyAs";
import { ProblemAlert } from "../../../parts/Trouble";
import { useAction } from "../../../parts/useAction";
import { putCommand } from "../commands";
import { jsonFault } from "../values/jsonText";
import { writeEntry } from "./calls";
import { JsonEditor } from "./JsonEditor";

type Props = { map: string; onAdded: (key: string) => void; onClose: () => void };

/** Adds an entry that is not there yet. */
export function AddEntry({ map, onAdded, onClose }: Props) {
  const [key, setKey] = useState("");
  const [text, setText] = useState("{\n  \n}");
  const add = useAction({ mutationFn: () => writeEntry(map, key, text.trim(), 0), onSuccess: () => onAdded(key) });
  const fault = jsonFault(text);
  const refused = !key ? "The entry needs a key." : fault ? `This is no JSON yet. ${fault}` : null;
  return (
    <Modal opened onClose={onClose} size="lg" title={<span className="breaks">Add an entry to {map}</span>}>
      <Stack gap="sm">
        <TextInput
          label="Key"
          description="Any text"
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
          required
          data-autofocus
        />
        <JsonEditor label="Value" text={text} onChange={setText} rows={10} />
        {add.error && <ProblemAlert error={add.error} />}
        <Group justify="flex-end">
          <CopyAs command={putCommand(map, key, text, 0)} label="adding this entry" />
          <Button variant="default" onClick={onClose}>
            Add nothing
          </Button>
          <ActionButton refused={refused} loading={add.isPending} onClick={() => add.mutate()}>
            Add entry
          </ActionButton>
        </Group>
      </Stack>
    </Modal>
  );
}
