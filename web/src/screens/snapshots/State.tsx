import { NumberInput, Select, Stack, Text, Textarea } from "@mantine/core";
import { IconDownload, IconPlayerPlay, IconPlayerStop, IconTerminal2 } from "@tabler/icons-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { answeredExactly, api } from "../../api/client";
import { curlLine } from "../../logic/commands";
import { count } from "../../logic/format";
import { ActionButton } from "../../parts/ActionButton";
import { CopyAs } from "../../parts/CopyAs";
import { PlaceButton } from "../../parts/links";
import type { Answer } from "../../parts/rows/grid";
import { Seconds } from "../../parts/Seconds";
import { Empty, ProblemAlert } from "../../parts/Trouble";
import { useAction } from "../../parts/useAction";
import { useViewerRefusal } from "../../parts/viewer";
import { queryOfStage } from "../sql/commands";
import { stateExport, stateQuery } from "./commands";
import { download } from "./download";
import type { SavedStage } from "./manifestFacts";
import { Results } from "./Results";
import classes from "./snapshots.module.css";

type Props = {
  snapshot: string;
  stages: SavedStage[];
  stage: string | null;
  onStage: (stage: string | undefined) => void;
};
const MOST_ROWS = 100_000;

/** The state of a stage as a table: asked with SQL, or taken out as a file. */
export function State({ snapshot, stages, stage, onStage }: Props) {
  const chosen = stages.find((each) => each.stage === stage)?.stage ?? (stage === null ? stages[0]?.stage : undefined);
  if (!stages.length) {
    return (
      <Empty title="No stage of this pipeline keeps state">Windows, aggregates, joins and state of your own do.</Empty>
    );
  }
  return (
    <Stack>
      <Select
        label="Stage"
        data={stages.map((each) => ({
          value: each.stage,
          label: `${each.stage} · ${each.kind} · ${count(each.rows)} rows`,
        }))}
        value={chosen ?? null}
        onChange={(next) => onStage(next ?? undefined)}
        error={chosen === undefined ? `There is no stage '${stage}' with state.` : null}
        allowDeselect={false}
        maw={480}
      />
      {chosen !== undefined && <Query key={chosen} snapshot={snapshot} stage={chosen} />}
    </Stack>
  );
}

function Query({ snapshot, stage }: { snapshot: string; stage: string }) {
  const viewer = useViewerRefusal();
  const [sql, setSql] = useState("SELECT * FROM state");
  const [limit, setLimit] = useState<string | number>(1000);
  const most = Math.round(Math.min(MOST_ROWS, Math.max(1, Number(limit) || 1000)));
  const leaving = useRef<AbortController | null>(null);
  const query = useAction({
    mutationFn: async () => {
      leaving.current = new AbortController();
      const { signal } = leaving.current;
      try {
        return await answeredExactly<Answer>(
          api.POST("/api/v1/snapshots/{name}/stages/{stage}/query", {
            params: { path: { name: snapshot, stage } },
            body: { sql, limit: most },
            parseAs: "text",
            signal,
          }),
        );
      } catch (error) {
        // The server ends a query whose asker has gone; who has stopped it knows why there is no answer.
        if (signal.aborted) return null;
        throw error;
      }
    },
  });
  useEffect(() => () => leaving.current?.abort(), []);
  const file = useAction({ mutationFn: () => download(snapshot, stage) });
  const refused = viewer ?? (sql.trim() ? null : "Write a query first.");
  const byKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (!refused && !query.isPending) query.mutate();
  };
  const taken = stateExport(snapshot, stage);
  return (
    <>
      <div className={classes.run}>
        <Textarea
          label="Spark SQL"
          description="The rows of the stage are the table `state`. Ctrl Enter runs it."
          className={classes.editor}
          value={sql}
          onChange={(event) => setSql(event.currentTarget.value)}
          onKeyDown={byKey}
          autosize
          minRows={3}
          maxRows={14}
          spellCheck={false}
          disabled={viewer !== null}
        />
        <NumberInput
          label="Rows at most"
          value={limit}
          onChange={setLimit}
          min={1}
          max={MOST_ROWS}
          allowDecimal={false}
          thousandSeparator=","
          disabled={viewer !== null}
        />
      </div>
      <div className={classes.actions}>
        <ActionButton
          leftSection={<IconPlayerPlay size={16} aria-hidden="true" />}
          refused={refused}
          disabled={query.isPending}
          onClick={() => query.mutate()}
        >
          {query.isPending ? "Running…" : "Run"}
        </ActionButton>
        <ActionButton
          variant="default"
          leftSection={<IconPlayerStop size={16} aria-hidden="true" />}
          refused={query.isPending ? null : (viewer ?? "Nothing is running.")}
          onClick={() => leaving.current?.abort()}
        >
          Stop
        </ActionButton>
        <CopyAs label="the query" command={stateQuery(snapshot, stage, sql, most)} />
        <PlaceButton
          to="/sql"
          search={{ q: queryOfStage(snapshot, stage) }}
          variant="default"
          leftSection={<IconTerminal2 size={16} aria-hidden="true" />}
        >
          Open in SQL
        </PlaceButton>
        <ActionButton
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden="true" />}
          refused={viewer}
          disabled={file.isPending}
          onClick={() => file.mutate()}
        >
          {file.isPending ? "Taking it out…" : "Download parquet"}
        </ActionButton>
        <CopyAs
          label="taking the state out"
          command={taken}
          curl={`${curlLine(taken, window.location.origin)} -o state.parquet`}
        />
        <Text size="sm" c="dimmed" role="status">
          {query.isPending || file.isPending ? (
            <>
              The server starts a Spark process and reads the state: <Seconds /> so far.
            </>
          ) : (
            (viewer ?? "Each takes some seconds: the server starts a Spark process for it.")
          )}
        </Text>
      </div>
      {query.error && <ProblemAlert error={query.error} />}
      {file.error && <ProblemAlert error={file.error} />}
      {query.data && <Results found={query.data} limit={query.data.rows.length} />}
    </>
  );
}
