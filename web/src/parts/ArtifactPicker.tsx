/** Choosing the code of a job: a file dropped or picked, one that the server keeps, or a path or URL that it reads. */
import { Fieldset, FileInput, Radio, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { IconFileCode } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type DragEvent, useState } from "react";
import { answered, api } from "../api/client";
import { age, bytes, exact } from "../logic/format";
import classes from "./ArtifactPicker.module.css";
import { type Artifact, type ArtifactFrom, fileRefusal, SUFFIXES, usesSentence } from "./artifact";
import { ProblemAlert } from "./Trouble";

type Props = {
  value: Artifact;
  onChange: (value: Artifact) => void;
  /** What the server takes if entry or arguments are left out. */
  otherwise?: { entry: string; args: string };
};

const WAYS: { value: ArtifactFrom; label: string }[] = [
  { value: "file", label: "A file of yours" },
  { value: "stored", label: "A file that the server keeps" },
  { value: "place", label: "A path or URL that the server reads" },
];

/** The artifact, its entry and its arguments. */
export function ArtifactPicker({ value, onChange, otherwise }: Props) {
  const [over, setOver] = useState(false);
  const [refused, setRefused] = useState<string | null>(null);
  const take = async (file: File | null) => {
    const refusal = file && fileRefusal(file);
    setRefused(refusal);
    if (refusal) return;
    try {
      // Read now: a browser gives up on a file that is written after it was chosen.
      const kept = file && new File([await file.arrayBuffer()], file.name, { lastModified: file.lastModified });
      onChange({ ...value, from: "file", file: kept });
    } catch {
      setRefused(`'${file?.name}' cannot be read: drop a file, not a folder.`);
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    // A closed field takes nothing, by no way.
    if (event.currentTarget.matches(":disabled")) return;
    void take(event.dataTransfer.files[0] ?? null);
  };
  return (
    <Fieldset
      legend="Code"
      className={classes.drop}
      data-over={over || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={drop}
    >
      <Stack gap="sm">
        <Radio.Group
          label="Where it comes from"
          value={value.from}
          onChange={(from) => onChange({ ...value, from: from as ArtifactFrom })}
        >
          <div className={classes.ways}>
            {WAYS.map((way) => (
              <Radio key={way.value} value={way.value} label={way.label} />
            ))}
          </div>
        </Radio.Group>
        <div className={classes.choice}>
          {value.from === "file" && (
            <FileInput
              label="File"
              description="Drop a .py, .sql, .zip or .whl file anywhere in this box, or pick one. Change it on disk? Pick it again."
              placeholder="Pick a file"
              accept={SUFFIXES.join(",")}
              leftSection={<IconFileCode size={16} aria-hidden="true" />}
              value={value.file}
              onChange={(file) => void take(file)}
              error={refused}
              clearable
              clearButtonProps={{ "aria-label": "Choose no file" }}
            />
          )}
          {value.from === "stored" && <StoredSelect value={value} onChange={onChange} />}
          {value.from === "place" && (
            <TextInput
              label="Path or URL"
              description="As the server sees it: a path on its machine, or an address that it can reach."
              placeholder="/jobs/ingest.py"
              value={value.place}
              onChange={(event) => onChange({ ...value, place: event.currentTarget.value })}
            />
          )}
          {value.from === "file" && value.file && (
            <Text size="sm" c="dimmed" className="breaks">
              {bytes(value.file.size)}, written {exact(new Date(value.file.lastModified).toISOString())}
            </Text>
          )}
        </div>
        <div className={classes.pair}>
          <TextInput
            label="Entry"
            description="Only if the file holds several jobs."
            placeholder={otherwise?.entry || "module:function"}
            value={value.entry}
            onChange={(event) => onChange({ ...value, entry: event.currentTarget.value })}
          />
          <Textarea
            label="Arguments of the job"
            description="One a line."
            placeholder={otherwise?.args}
            autosize
            minRows={1}
            maxRows={6}
            value={value.args}
            onChange={(event) => onChange({ ...value, args: event.currentTarget.value })}
          />
        </div>
      </Stack>
    </Fieldset>
  );
}

function StoredSelect({ value, onChange }: Pick<Props, "value" | "onChange">) {
  const stored = useQuery({
    queryKey: ["artifacts"],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/artifacts", { signal })),
    staleTime: 0,
  });
  if (stored.error) return <ProblemAlert error={stored.error} retry={() => void stored.refetch()} />;
  const all = stored.data ?? [];
  const found = new Map(all.map((artifact) => [artifact.path, artifact]));
  return (
    <Select
      label="Stored file"
      description={
        stored.data && !all.length
          ? "The server keeps no file yet."
          : "Those of jobs, and those that were checked lately."
      }
      placeholder={stored.isPending ? "Reading…" : "Choose a file"}
      data={all.map((artifact) => ({
        value: artifact.path,
        label: `${artifact.name} · ${artifact.sha256.slice(0, 8)}`,
      }))}
      value={value.stored}
      onChange={(path) => onChange({ ...value, stored: path })}
      disabled={stored.data !== undefined && !all.length}
      searchable
      nothingFoundMessage="No stored file is called so"
      maxDropdownHeight={320}
      renderOption={({ option }) => {
        const artifact = found.get(option.value);
        return (
          <div className="breaks">
            <Text size="sm">{option.label}</Text>
            {artifact && (
              <Text size="xs" c="dimmed">
                {bytes(artifact.bytes)}, {usesSentence(artifact)}, stored {age(artifact.stored, Date.now())}
              </Text>
            )}
          </div>
        );
      }}
    />
  );
}
