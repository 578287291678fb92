/** The names that a statement may hold, for completion. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { streamed } from "../../api/client";
import { useJobs, useSnapshots } from "../../api/queries";
import { pathTo } from "../../logic/commands";
import { Answers } from "./answers";
import type { Names } from "./completion";
import { linesOf } from "./lines";

const KEY = ["sql-names"];
const COLUMNS =
  "SELECT table_name, column_name FROM information_schema.columns ORDER BY table_name, ordinal_position LIMIT 10000";

/** Names as they are; `wanted`: somebody is about to type. `learn` reads them anew. */
export function useNames(wanted: boolean): { names: { readonly current: Names }; learn: () => void } {
  const client = useQueryClient();
  const jobs = useJobs().data;
  const snapshots = useSnapshots().data;
  const tables = useQuery({
    queryKey: [...KEY, "tables"],
    queryFn: ({ signal }) => texts("SHOW MAPPINGS; SHOW VIEWS", signal),
    enabled: wanted,
    retry: false,
  }).data;
  // The first query starts a process at the server: nobody who only passes by is to do that.
  const columns = useQuery({
    queryKey: [...KEY, "columns"],
    queryFn: ({ signal }) => texts(COLUMNS, signal),
    enabled: wanted,
    retry: false,
  }).data;
  const known = useMemo<Names>(() => {
    const of: Record<string, string[]> = {};
    for (const [table = "", column = ""] of columns ?? []) {
      if (!Object.hasOwn(of, table)) of[table] = [];
      of[table]?.push(column);
    }
    return {
      tables: (tables ?? []).map(([name = ""]) => name),
      columns: of,
      jobs: [...new Set((jobs ?? []).map((job) => job.name ?? job.id))],
      snapshots: (snapshots ?? []).map((snapshot) => snapshot.name),
    };
  }, [tables, columns, jobs, snapshots]);
  const names = useRef(known);
  useEffect(() => {
    names.current = known;
  }, [known]);
  const learn = useCallback(() => void client.invalidateQueries({ queryKey: KEY }), [client]);
  return { names, learn };
}

/** The rows of statements as texts. */
async function texts(statements: string, signal: AbortSignal): Promise<string[][]> {
  const answers = new Answers();
  for await (const line of linesOf(await streamed(pathTo("sql"), { statements }, signal))) answers.take(line);
  return answers.snapshot().flatMap((answer) => answer.rows.map((row) => row.values.map(String)));
}
