import { Text } from "@mantine/core";
import { useMemo } from "react";
import { count } from "../../logic/format";
import { type Answer, gridRows } from "../../parts/rows/grid";
import { RowsTable } from "../../parts/rows/RowsTable";
import { Notice } from "../../parts/version/Notice";

/** The rows that a query has given. */
export function Results({ found, limit }: { found: Answer; limit: number }) {
  const rows = useMemo(() => gridRows(found), [found]);
  return (
    <>
      <Text size="sm" role="status">
        {count(found.rows.length)} {found.rows.length === 1 ? "row" : "rows"}
      </Text>
      {found.more && (
        <Notice color="yellow" title={`There are more than these ${count(limit)} rows`}>
          Let more come, or take the whole state out as a file.
        </Notice>
      )}
      <RowsTable columns={found.columns} rows={rows} empty="The query gives no rows." />
    </>
  );
}
