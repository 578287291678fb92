import { Alert, Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { ActionButton } from "../../../parts/ActionButton";
import { CopyAs } from "../../../parts/CopyAs";
import { ProblemAlert } from "../../../parts/Trouble";
import { useAction } from "../../../parts/useAction";
import { putCommand } from "../commands";
import { keyText } from "../keys";
import { jsonFault } from "../values/jsonText";
import { isConflict, writeEntry } from "./calls";
import { JsonEditor } from "./JsonEditor";

type Props = { map: string; onOpen: (key: string) => void; onClose: () => void };

/** Adds an entry that is not there yet. */
export function AddEntry({ map, onOpen, onClose }: Props) {
  const [key, setKey] = useState("");
  const [text, setText] = useState("{\n  \n}");
  const add = useAction({
    mutationFn: (asked: { key: string; text: string }) => writeEntry(map, asked.key, asked.text, 0),
    onSuccess: (_, asked) => onOpen(asked.key),
  });
  const fault = jsonFault(text);
  const refused = fault ? `This cannot be saved yet. ${fault}` : null;
  const there = isConflict(add.error) ? add.variables?.key : undefined;
  return (
    <Modal opened onClose={onClose} size="lg" title={<span className="breaks">Add an entry to {map}</span>}>
      <Stack gap="sm">
        <TextInput
          label="Key"
          description="Any text. If you write none, it is the empty key."
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
          data-autofocus
        />
        <JsonEditor label="Value" text={text} onChange={setText} rows={10} />
        {there !== undefined && (
          <Alert role="alert" color="orange" variant="outline" title="There is such an entry already">
            <Text size="sm" className="breaks" lineClamp={4}>
              Map {map} has an entry {keyText(there)}. It can be changed where it is shown.
            </Text>
            <Button mt="xs" size="xs" variant="default" onClick={() => onOpen(there)}>
              Open that entry
            </Button>
          </Alert>
        )}
        {add.error && there === undefined && <ProblemAlert error={add.error} />}
        <Group justify="flex-end">
          <CopyAs command={putCommand(map, key, text, 0)} label="adding this entry" />
          <Button variant="default" onClick={onClose}>
            Add nothing
          </Button>
          <ActionButton refused={refused} loading={add.isPending} onClick={() => add.mutate({ key, text })}>
            Add entry
          </ActionButton>
        </Group>
      </Stack>
    </Modal>
  );
}
