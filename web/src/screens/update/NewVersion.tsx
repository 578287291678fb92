import { Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { answered, api, type Job } from "../../api/client";
import { keys } from "../../api/queries";
import { ActionButton } from "../../parts/ActionButton";
import { ArtifactPicker } from "../../parts/ArtifactPicker";
import { artifactCurl } from "../../parts/artifact";
import { CopyAs } from "../../parts/CopyAs";
import { ForOperators } from "../../parts/ForOperators";
import { ProblemAlert } from "../../parts/Trouble";
import { Checking } from "../../parts/version/Checking";
import { Compatibility } from "../../parts/version/Compatibility";
import { checkCommand, useCheck } from "../../parts/version/check";
import { carried, type Draft, draftRefusal, EMPTY_DRAFT, mayDrop, optionsBefore } from "../../parts/version/draft";
import { Notice } from "../../parts/version/Notice";
import { OptionsForm } from "../../parts/version/OptionsForm";
import { useViewerRefusal } from "../../parts/viewer";
import { RunForm } from "./RunForm";
import { updateRefusal } from "./updatable";
import type { UpdateAsked } from "./useUpdate";

type Props = {
  job: Job;
  /** Number of the version that has written the saved state. */
  saved: number;
  onRun: (asked: Omit<UpdateAsked, "after">) => void;
};

/** The three steps before a change-over: the code, what becomes of the state, how to run it. */
export function NewVersion({ job, saved, onRun }: Props) {
  const [draft, setDraft] = useState<Draft>(() => ({
    ...EMPTY_DRAFT,
    artifact: { ...EMPTY_DRAFT.artifact, entry: job.source.entry ?? "", args: job.source.args.join("\n") },
  }));
  const viewer = useViewerRefusal();
  const graph = useQuery({
    queryKey: keys.job(job.id, "graph", saved),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/jobs/{job}/graph", { params: { path: { job: job.id }, query: { version: saved } }, signal }),
      ),
  });
  const check = useCheck();
  const before = optionsBefore(job.options);
  const asked = { draft, against: { job: job.id }, before };
  const run = (next: Draft) => check.run({ ...asked, draft: next });
  const carry = (now: string, old: string) => {
    const next = carried(draft, now, old);
    setDraft(next);
    run(next);
  };
  const { found } = check;
  const needsDrop = found?.checked.report?.needs_allow_drop ?? [];
  const drop = () => {
    const next = mayDrop(draft, needsDrop);
    setDraft(next);
    run(next);
  };
  const stale = found !== null && found.asked.draft !== draft;
  const command = checkCommand({ ...asked, against: { job: job.name ?? job.id } });
  return (
    <>
      <Part number={1} title="The new version">
        <ForOperators>
          <ArtifactPicker value={draft.artifact} onChange={(artifact) => setDraft({ ...draft, artifact })} />
          <OptionsForm request="update" draft={draft} onChange={setDraft} before={before} />
        </ForOperators>
        <Group gap={4}>
          <ActionButton
            refused={viewer ?? draftRefusal(draft)}
            disabled={check.pending}
            onClick={() => run(draft)}
            variant={found && !stale ? "default" : "filled"}
          >
            {check.pending ? "Checking…" : "Check"}
          </ActionButton>
          <CopyAs
            label="the check"
            command={command}
            curl={artifactCurl(draft.artifact, command, window.location.origin)}
          />
          <Text size="sm" c="dimmed" ml="xs">
            Compiles it, and compares it with the state of version {saved}. Nothing is touched.
          </Text>
        </Group>
        <Checking pending={check.pending} onStop={check.stop} />
        {check.error && <ProblemAlert error={check.error} />}
      </Part>
      {found && (
        <Part number={2} title="What becomes of the state">
          {stale && (
            <Notice color="yellow" title="This was before your last change">
              Check it again.
            </Notice>
          )}
          {needsDrop.length > 0 && (
            <Notice color="yellow" title={`It would drop what is saved of ${needsDrop.join(", ")}`}>
              An update does so only if you allow it.
              <Group mt="xs">
                <ActionButton refused={viewer} disabled={check.pending} variant="default" onClick={drop}>
                  Allow it to be dropped
                </ActionButton>
              </Group>
            </Notice>
          )}
          <Compatibility
            checked={found.checked}
            renamed={found.asked.draft.renamed}
            before={
              graph.data
                ? {
                    title: saved === job.version ? `Version ${saved}, now` : `Version ${saved}, whose state is saved`,
                    graph: graph.data,
                  }
                : null
            }
            title="The new version"
            version={job.version + 1}
            onCarry={carry}
            busy={check.pending}
          />
        </Part>
      )}
      <Part number={found ? 3 : 2} title="The change-over">
        <RunForm
          job={job}
          draft={draft}
          refused={viewer ?? updateRefusal(job) ?? draftRefusal(draft) ?? unchecked(check, stale)}
          onRun={onRun}
        />
      </Part>
    </>
  );
}

function unchecked(check: ReturnType<typeof useCheck>, stale: boolean): string | null {
  if (check.pending) return "It is being checked.";
  if (!check.found) return "Check it first: then you see what becomes of the state.";
  if (stale) return "It was changed since it was checked: check it again.";
  if (check.found.checked.report?.refused)
    return "A stage is refused: the new version would not start from this state.";
  if (check.found.checked.report?.needs_allow_drop?.length)
    return "It would drop saved state: allow that, or keep the stages and sources.";
  return null;
}

function Part({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Stack>
        <Title order={2} size="h4">
          {number}. {title}
        </Title>
        {children}
      </Stack>
    </Paper>
  );
}
