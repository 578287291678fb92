import { ActionIcon, Button, Group, Select, Text, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { answered, api, type Job, type OptionInForce } from "../../../api/client";
import { useAsked } from "../api/act";
import { configureCommand } from "../commands";
import { changesOf, type OptionRow, valueText } from "../logic/options";
import { ActionForm } from "./ActionForm";

type Props = { job: Job; options: OptionInForce[]; refused: string | null; onClose: () => void; onDone: () => void };

/** Gives a suspended job other options. */
export function ConfigureForm({ job, options, refused, onClose, onDone }: Props) {
  const [rows, setRows] = useState<OptionRow[]>([{ key: 0, name: "", value: "" }]);
  const changes = changesOf(rows);
  const mutation = useAsked(
    () =>
      answered(
        api.POST("/api/v1/jobs/{job}/configure", {
          params: { path: { job: job.id } },
          body: { options: changes },
        }),
      ),
    onDone,
  );
  const change = (key: number, next: Partial<OptionRow>) =>
    setRows(rows.map((row) => (row.key === key ? { ...row, ...next } : row)));
  return (
    <ActionForm
      title="Configure"
      refused={refused}
      onClose={onClose}
      does="Change options"
      doing="Changing…"
      keeps="Keep options"
      blocked={Object.keys(changes).length === 0}
      mutation={mutation}
      command={configureCommand(job, changes)}
    >
      <Text>
        The next run of <bdi className="breaks">{job.name ?? job.id}</bdi> has these options: it begins when the job is
        resumed. What saved state depends on, only an update may change. Values are written as on the command line, such
        as 30s, true or 4.
      </Text>
      {rows.map((row) => (
        <Group key={row.key} align="end" wrap="nowrap">
          <Select
            label="Option"
            data={options.map((option) => option.name)}
            value={row.name || null}
            onChange={(name) => {
              const now = options.find((option) => option.name === name);
              change(row.key, { name: name ?? "", value: now ? valueText(now.value) : "" });
            }}
            searchable
            flex={1}
          />
          <TextInput
            label="Value"
            value={row.value}
            onChange={(event) => change(row.key, { value: event.currentTarget.value })}
            flex={1}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size={36}
            aria-label={`Remove option ${row.name}`}
            disabled={rows.length === 1}
            onClick={() => setRows(rows.filter((other) => other.key !== row.key))}
          >
            <IconTrash size={16} />
          </ActionIcon>
        </Group>
      ))}
      <Button
        variant="subtle"
        w="fit-content"
        leftSection={<IconPlus size={16} />}
        onClick={() => setRows([...rows, { key: Math.max(...rows.map((row) => row.key)) + 1, name: "", value: "" }])}
      >
        Another option
      </Button>
    </ActionForm>
  );
}
