import { Select, Stack, Text, Title } from "@mantine/core";
import { IconEye } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { answeredExactly, api, type Job } from "../../../api/client";
import { count } from "../../../logic/format";
import { ActionButton } from "../../../parts/ActionButton";
import { type Answer, gridRows } from "../../../parts/rows/grid";
import { RowsTable } from "../../../parts/rows/RowsTable";
import { Seconds } from "../../../parts/Seconds";
import { ProblemAlert } from "../../../parts/Trouble";
import { useAction } from "../../../parts/useAction";
import { useViewerRefusal } from "../../../parts/viewer";

const WAIT_SECONDS = 30;
const ROWS = 20;

/** Rows that a stage gives in the next epoch. */
export function Peek({ job, stages }: { job: Job; stages: string[] }) {
  const viewer = useViewerRefusal();
  const [stage, setStage] = useState<string | null>(null);
  const leaving = useRef<AbortController | null>(null);
  const chosen = stage ?? stages[0] ?? null;
  const peek = useAction({
    mutationFn: async () => {
      leaving.current = new AbortController();
      const { signal } = leaving.current;
      try {
        return await answeredExactly<Answer>(
          api.POST("/api/v1/jobs/{job}/stages/{stage}/peek", {
            params: { path: { job: job.id, stage: chosen ?? "" } },
            body: { limit: ROWS, wait_seconds: WAIT_SECONDS },
            parseAs: "text",
            signal,
          }),
        );
      } catch (error) {
        if (signal.aborted) return null;
        throw error;
      }
    },
  });
  useEffect(() => () => leaving.current?.abort(), []);
  const refused = viewer ?? (chosen === null ? "This job has no stage whose rows can be looked at." : null);
  return (
    <Stack align="start">
      <Title order={2} size="h4">
        Rows of a stage
      </Title>
      <Select
        label="Stage"
        description="The last stage with state before a sink, or one behind it: Spark keeps the rows of no other."
        data={stages}
        value={chosen}
        onChange={(next) => {
          setStage(next);
          peek.reset();
        }}
        allowDeselect={false}
        disabled={refused !== null}
        w="100%"
        maw={480}
      />
      <div style={{ display: "flex", gap: 8, alignItems: "center", flexWrap: "wrap" }}>
        <ActionButton
          leftSection={<IconEye size={16} aria-hidden="true" />}
          refused={refused}
          disabled={peek.isPending}
          onClick={() => peek.mutate()}
        >
          {peek.isPending ? "Waiting…" : "Peek"}
        </ActionButton>
        <Text size="sm" c="dimmed" role="status">
          {peek.isPending ? (
            <>
              Waits for an epoch with rows of the stage: <Seconds /> so far, {WAIT_SECONDS} at most.
            </>
          ) : (
            (refused ??
            `Shows ${ROWS} rows of the next epoch in which the stage gives any. Only that epoch takes longer.`)
          )}
        </Text>
      </div>
      {peek.error && <ProblemAlert error={peek.error} />}
      {peek.data && <Rows answer={peek.data} />}
    </Stack>
  );
}

function Rows({ answer }: { answer: Answer }) {
  return (
    <>
      <Text size="sm" role="status">
        {count(answer.rows.length)} {answer.rows.length === 1 ? "row" : "rows"}
        {answer.more && " of more"}
      </Text>
      <RowsTable columns={answer.columns} rows={gridRows(answer)} empty="The stage gives no rows." />
    </>
  );
}
