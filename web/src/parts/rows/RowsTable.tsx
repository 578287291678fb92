import { Modal, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { type Column, DataTable } from "../DataTable";
import { cellText, type GridRow, isNumeric, sortValue, widthOf } from "./grid";
import classes from "./rows.module.css";

type Props = {
  /** Name and type of each column. */
  columns: string[][];
  rows: GridRow[];
  empty: string;
  label?: string;
  height?: number;
};

/** Rows of a query. A row is opened by Enter or a double click: then its values are there in full. */
export function RowsTable({ columns, rows, empty, label = "Rows", height = 460 }: Props) {
  const [sorting, setSorting] = useState<{ id: string; desc: boolean }[]>([]);
  const [opened, setOpened] = useState<GridRow | null>(null);
  // Once the first rows are there, no column gets another width.
  const known = Math.min(rows.length, 100);
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows that come later change nothing of the columns
  const heads = useMemo(() => columnsOf(columns, rows), [columns, known]);
  return (
    <>
      <DataTable
        label={label}
        columns={heads}
        rows={rows}
        id={(row) => String(row.place)}
        sorting={sorting}
        onSorting={setSorting}
        onOpen={setOpened}
        height={height}
        empty={<Text p="md">{empty}</Text>}
      />
      <Modal
        title={`Row ${((opened?.place ?? 0) + 1).toLocaleString("en-US")}`}
        opened={opened !== null}
        onClose={() => setOpened(null)}
        size="lg"
      >
        <dl className={classes.whole}>
          {columns.map(([name = "", type = ""], place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have one name
            <div key={place}>
              <dt>
                {name} <span className={classes.type}>{type}</span>
              </dt>
              <dd>
                <Value value={opened?.values[place]} />
              </dd>
            </div>
          ))}
        </dl>
      </Modal>
    </>
  );
}

function Value({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span className={classes.null}>NULL</span>;
  return <>{cellText(value)}</>;
}

function columnsOf(columns: string[][], rows: GridRow[]): Column<GridRow>[] {
  return columns.map(([name = "", type = ""], place) => ({
    id: String(place),
    head: `${name} ${type}`,
    width: widthOf(columns, rows, place),
    numeric: isNumeric(type),
    value: (row) => sortValue(row.values[place]),
    cell: (row) => {
      const value = row.values[place];
      if (value === null || value === undefined) return <Value value={value} />;
      const text = cellText(value);
      return <span title={text.length > 40 ? text.slice(0, 2000) : undefined}>{text.slice(0, 2000)}</span>;
    },
  }));
}
