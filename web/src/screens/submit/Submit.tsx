import { Group, Paper, Select, Stack, Text, TextInput, Title } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { type Job, upload } from "../../api/client";
import { useJobs, useSnapshots } from "../../api/queries";
import { bytes, exact } from "../../logic/format";
import { ActionButton } from "../../parts/ActionButton";
import { ArtifactPicker } from "../../parts/ArtifactPicker";
import { artifactCurl, artifactFile, stemOf } from "../../parts/artifact";
import { CopyAs } from "../../parts/CopyAs";
import { ForOperators } from "../../parts/ForOperators";
import { JobLink } from "../../parts/JobLink";
import { ProblemAlert } from "../../parts/Trouble";
import { useAction } from "../../parts/useAction";
import { Checking } from "../../parts/version/Checking";
import { Compatibility } from "../../parts/version/Compatibility";
import { checkCommand, useCheck } from "../../parts/version/check";
import { carried, type Draft, draftRefusal, EMPTY_DRAFT } from "../../parts/version/draft";
import { Notice } from "../../parts/version/Notice";
import { OptionsForm } from "../../parts/version/OptionsForm";
import { graphOfPlan } from "../../parts/version/plan";
import { useViewerRefusal } from "../../parts/viewer";
import { useManifest } from "../snapshots/manifest";
import { nameHolder, submitBody, submitCommand } from "./request";

const route = getRouteApi("/submit");

/** A new job: its code, its name, and the snapshot that it starts from. */
export function Submit() {
  const go = useNavigate({ from: "/submit" });
  const snapshot = route.useSearch().snapshot ?? null;
  const jobs = useJobs().data ?? [];
  const viewer = useViewerRefusal();
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT);
  const [name, setName] = useState("");
  const asked = { draft, name, snapshot };
  const holder = nameHolder(asked, jobs);
  const check = useCheck();
  const before = useBefore(snapshot);
  const submit = useAction({
    mutationFn: () => upload<Job>("/api/v1/jobs", submitBody(asked), artifactFile(draft.artifact)),
    onSuccess: (job) => void go({ to: "/jobs/$job", params: { job: job.id } }),
  });
  const against = snapshot ? { snapshot } : {};
  const run = (next: Draft) => check.run({ draft: next, against });
  const carry = (now: string, old: string) => {
    const next = carried(draft, now, old);
    setDraft(next);
    run(next);
  };
  const { found } = check;
  const stale = found !== null && (found.asked.draft !== draft || (found.asked.against.snapshot ?? null) !== snapshot);
  const refused =
    viewer ??
    draftRefusal(draft) ??
    (!stale && found?.checked.report?.refused
      ? "A stage is refused: the job would not start from this snapshot."
      : null);
  const command = submitCommand(asked);
  const checking = checkCommand({ draft, against });
  const curl = (line: typeof command) => artifactCurl(draft.artifact, line, window.location.origin);
  return (
    <Stack>
      <Title order={1} size="h2">
        Submit a job
      </Title>
      <ForOperators>
        <ArtifactPicker value={draft.artifact} onChange={(artifact) => setDraft({ ...draft, artifact })} />
        <Group grow align="start" preventGrowOverflow={false} wrap="wrap">
          <TextInput
            label="Name"
            description="One job at a time may have it."
            placeholder={stemOf(draft.artifact) || "As the file is called"}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            miw={240}
          />
          <SnapshotSelect
            value={snapshot}
            onChange={(next) => void go({ search: { snapshot: next ?? undefined }, replace: true })}
          />
        </Group>
        {holder && (
          <Notice color="yellow" title="The name is taken">
            A job of this name has not ended: <JobLink job={holder} />. Give another name, or update that job.
          </Notice>
        )}
        <OptionsForm request="submit" draft={draft} onChange={setDraft} />
      </ForOperators>
      <Group gap={4}>
        <ActionButton refused={refused} disabled={submit.isPending} onClick={() => submit.mutate()}>
          {submit.isPending ? "Submitting…" : "Submit"}
        </ActionButton>
        <CopyAs label="submitting" command={command} curl={curl(command)} />
        <ActionButton
          ml="md"
          variant="default"
          refused={viewer ?? draftRefusal(draft)}
          disabled={check.pending}
          onClick={() => run(draft)}
        >
          {check.pending ? "Checking…" : "Check"}
        </ActionButton>
        <CopyAs label="the check" command={checking} curl={curl(checking)} />
        <Text size="sm" c="dimmed" ml="xs">
          A check compiles it and touches nothing.
        </Text>
      </Group>
      {submit.error && <ProblemAlert error={submit.error} />}
      <Checking pending={check.pending} onStop={check.stop} />
      {check.error && <ProblemAlert error={check.error} />}
      {found && (
        <Paper withBorder p="md" component="section" aria-labelledby="checked">
          <Stack>
            <Title order={2} size="h4" id="checked">
              What the check has found
            </Title>
            {stale && (
              <Notice color="yellow" title="This was before your last change">
                Check it again.
              </Notice>
            )}
            <Compatibility
              checked={found.checked}
              renamed={found.asked.draft.renamed}
              before={before && found.asked.against.snapshot === snapshot ? before : null}
              title="The new job"
              version={1}
              onCarry={carry}
              busy={check.pending}
            />
          </Stack>
        </Paper>
      )}
    </Stack>
  );
}

function SnapshotSelect({ value, onChange }: { value: string | null; onChange: (next: string | null) => void }) {
  const snapshots = useSnapshots().data ?? [];
  const found = new Map(snapshots.map((snapshot) => [snapshot.name, snapshot]));
  const names = [...snapshots].sort((a, b) => b.created.localeCompare(a.created)).map((snapshot) => snapshot.name);
  return (
    <Select
      label="Start from a snapshot"
      description="Its state and offsets go on in this job. The snapshot stays."
      placeholder="From nothing"
      data={value && !found.has(value) ? [value, ...names] : names}
      value={value}
      onChange={onChange}
      error={value && snapshots.length > 0 && !found.has(value) ? `There is no snapshot '${value}'.` : null}
      searchable
      clearable
      clearButtonProps={{ "aria-label": "Start from nothing" }}
      nothingFoundMessage="No snapshot is called so"
      miw={240}
      renderOption={({ option }) => {
        const snapshot = found.get(option.value);
        return (
          <div className="breaks">
            <Text size="sm">{option.label}</Text>
            {snapshot && (
              <Text size="xs" c="dimmed">
                of {snapshot.job_name ?? snapshot.job_id}, {bytes(snapshot.bytes)}, {exact(snapshot.created)}
              </Text>
            )}
          </div>
        );
      }}
    />
  );
}

/** The pipeline that a snapshot was taken of. */
function useBefore(snapshot: string | null) {
  const created = useSnapshots().data?.find((each) => each.name === snapshot)?.created;
  const manifest = useManifest(snapshot, created).data;
  return useMemo(
    () => (manifest ? { title: `In snapshot ${manifest.name}`, graph: graphOfPlan(manifest.plan, 1) } : null),
    [manifest],
  );
}
