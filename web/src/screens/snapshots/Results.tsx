import { Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { count } from "../../logic/format";
import { type Column, DataTable } from "../../parts/DataTable";
import { Notice } from "../update/Notice";
import { type Answer, cellText, type GridRow, gridRows, isNumeric, sortValue, widthOf } from "./grid";
import classes from "./snapshots.module.css";

/** The rows that a query has given. */
export function Results({ found, limit }: { found: Answer; limit: number }) {
  const [sorting, setSorting] = useState<{ id: string; desc: boolean }[]>([]);
  const rows = useMemo(() => gridRows(found), [found]);
  const columns = useMemo(() => columnsOf(found), [found]);
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
      <DataTable
        label="Rows"
        columns={columns}
        rows={rows}
        id={(row) => String(row.place)}
        sorting={sorting}
        onSorting={setSorting}
        height={460}
        empty={<Text p="md">The query gives no rows.</Text>}
      />
    </>
  );
}

function columnsOf(found: Answer): Column<GridRow>[] {
  return found.columns.map(([name = "", type = ""], place) => ({
    id: String(place),
    head: `${name} ${type}`,
    width: widthOf(found, place),
    numeric: isNumeric(type),
    value: (row) => sortValue(row.values[place]),
    cell: (row) => {
      const value = row.values[place];
      if (value === null || value === undefined) return <span className={classes.null}>NULL</span>;
      const text = cellText(value);
      return <span title={text.length > 40 ? text.slice(0, 2000) : undefined}>{text}</span>;
    },
  }));
}
