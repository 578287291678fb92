import {
  ActionIcon,
  Autocomplete,
  Badge,
  Button,
  CloseButton,
  Fieldset,
  Group,
  Select,
  Stack,
  Text,
} from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useId } from "react";
import { type Draft, notCarried, type OptionRow } from "./draft";
import type { KnownOption, OptionsRequest } from "./knownOptions";
import classes from "./update.module.css";
import { useKnownOptions } from "./useKnownOptions";

type Props = {
  request: OptionsRequest;
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** Options that hold if nobody says anything here: name to value. */
  before?: Record<string, unknown>;
};

/** Job options, a row each; and the stages whose state goes on under another name. */
export function OptionsForm({ request, draft, onChange, before = {} }: Props) {
  const known = useKnownOptions(request).data ?? [];
  const change = (rows: OptionRow[]) => onChange({ ...draft, options: rows });
  const next = Math.max(0, ...draft.options.map((row) => row.id)) + 1;
  const kept = Object.entries(before);
  return (
    <Fieldset legend="Options">
      <Stack gap="sm">
        {kept.length > 0 && (
          <Text size="sm" c="dimmed" className="breaks">
            As before: {kept.map(([name, value]) => `${name}=${shown(value)}`).join(", ")}.
          </Text>
        )}
        {draft.options.map((row) => (
          <Row
            key={row.id}
            row={row}
            known={known}
            taken={draft.options.filter((other) => other.id !== row.id).map((other) => other.name)}
            onChange={(changed) => change(draft.options.map((other) => (other.id === row.id ? changed : other)))}
            onRemove={() => change(draft.options.filter((other) => other.id !== row.id))}
          />
        ))}
        <Renamed draft={draft} onChange={onChange} />
        <Group>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconPlus size={14} aria-hidden="true" />}
            onClick={() => change([...draft.options, { id: next, name: "", value: "" }])}
          >
            Set an option
          </Button>
          {!draft.options.length && (
            <Text size="sm" c="dimmed">
              What is not set here is as the code says, or the default.
            </Text>
          )}
        </Group>
      </Stack>
    </Fieldset>
  );
}

function Row(props: {
  row: OptionRow;
  known: KnownOption[];
  taken: string[];
  onChange: (row: OptionRow) => void;
  onRemove: () => void;
}) {
  const { row, known, taken, onChange, onRemove } = props;
  const meaning = useId();
  const chosen = known.find((option) => option.name === row.name);
  const said = chosen?.meaning;
  return (
    <div>
      <div className={classes.option}>
        <Select
          label="Option"
          placeholder="Choose one"
          data={known.map((option) => option.name).filter((name) => !taken.includes(name))}
          value={row.name || null}
          onChange={(name) => onChange({ ...row, name: name ?? "" })}
          searchable
          autoFocus={!row.name}
          nothingFoundMessage="There is no such option"
        />
        <Autocomplete
          label="Value"
          data={chosen?.values}
          filter={({ options }) => options}
          value={row.value}
          aria-describedby={said ? meaning : undefined}
          onChange={(value) => onChange({ ...row, value })}
        />
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={`Do not set ${row.name || "this option"}`}
          onClick={onRemove}
        >
          <IconTrash size={16} />
        </ActionIcon>
      </div>
      {said && (
        <Text id={meaning} size="xs" c="dimmed" mt={2}>
          {said}
        </Text>
      )}
    </div>
  );
}

function Renamed({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const pairs = Object.entries(draft.renamed);
  if (!pairs.length) return null;
  return (
    <Group gap="xs" role="list" aria-label="Renamed stages">
      {pairs.map(([now, old]) => (
        <Badge
          key={now}
          role="listitem"
          variant="default"
          size="lg"
          radius="sm"
          tt="none"
          maw="100%"
          rightSection={
            <CloseButton
              size="xs"
              aria-label={`'${now}' is not the renamed '${old}'`}
              onClick={() => onChange(notCarried(draft, now))}
            />
          }
        >
          renamed: {now} = {old}
        </Badge>
      ))}
    </Group>
  );
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
