/** A table of many rows: only those that are seen are drawn. Sorted by a click on a head, walked with the arrow keys. */
import { Box, Text, UnstyledButton } from "@mantine/core";
import {
  type ColumnDef,
  createSortedRowModel,
  rowSortingFeature,
  type SortingState,
  sortFns,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useMemo, useRef } from "react";
import classes from "./DataTable.module.css";

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel(), sortFns });

export type Column<T> = {
  id: string;
  head: string;
  /** What the column is sorted by; without it the column is not sorted. */
  value?: (row: T) => string | number | null | undefined;
  cell: (row: T) => ReactNode;
  /** As in CSS grid: `minmax(160px, 2fr)`. */
  width: string;
  numeric?: boolean;
};

type Props<T> = {
  label: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
  sorting: SortingState;
  onSorting: (sorting: SortingState) => void;
  onOpen?: (row: T) => void;
  height?: number | string;
  empty?: ReactNode;
};

const ROW_PX = 44;

export function DataTable<T extends object>(props: Props<T>) {
  const { columns, rows, id, sorting, onSorting } = props;
  const definitions = useMemo<ColumnDef<typeof features, T>[]>(
    () =>
      columns.map((column) => ({
        id: column.id,
        header: column.head,
        accessorFn: (row: T) => column.value?.(row) ?? undefined,
        enableSorting: column.value !== undefined,
        sortUndefined: "last" as const,
        sortFn: column.numeric ? ("basic" as const) : ("alphanumeric" as const),
      })),
    [columns],
  );
  const table = useTable({
    features,
    columns: definitions,
    data: rows,
    getRowId: id,
    state: { sorting },
    onSortingChange: (next) => onSorting(typeof next === "function" ? next(sorting) : next),
  });
  const sorted = table.getRowModel().rows;
  const view = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => view.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });
  const grid = { gridTemplateColumns: columns.map((column) => column.width).join(" ") };

  const walk = (event: KeyboardEvent<HTMLElement>, place: number) => {
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 10,
      PageUp: -10,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    if (step === undefined) {
      const row = sorted[place]?.original;
      if (event.key === "Enter" && event.target === event.currentTarget && row) props.onOpen?.(row);
      return;
    }
    event.preventDefault();
    const next = Math.max(0, Math.min(sorted.length - 1, place + step));
    virtual.scrollToIndex(next);
    requestAnimationFrame(() => view.current?.querySelector<HTMLElement>(`[data-place="${next}"]`)?.focus());
  };

  return (
    <Box
      ref={view}
      className={classes.view}
      style={{ maxHeight: props.height ?? "calc(100dvh - 260px)" }}
      tabIndex={-1}
    >
      <div role="table" aria-label={props.label} aria-rowcount={sorted.length + 1} className={classes.table}>
        <div role="rowgroup" className={classes.head}>
          <div role="row" className={classes.row} style={grid} aria-rowindex={1}>
            {columns.map((column) => {
              const now = sorting[0]?.id === column.id ? (sorting[0].desc ? "descending" : "ascending") : "none";
              return (
                <div
                  key={column.id}
                  role="columnheader"
                  aria-sort={column.value ? now : undefined}
                  className={classes.cell}
                  data-numeric={column.numeric || undefined}
                >
                  {column.value ? (
                    <UnstyledButton
                      className={classes.sort}
                      onClick={() => onSorting([{ id: column.id, desc: now === "ascending" }])}
                    >
                      {column.head}
                      <span aria-hidden="true">{now === "none" ? "" : now === "ascending" ? " ▲" : " ▼"}</span>
                    </UnstyledButton>
                  ) : (
                    column.head
                  )}
                </div>
              );
            })}
          </div>
        </div>
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => {
            const row = sorted[item.index];
            if (!row) return null;
            return (
              <div
                key={row.id}
                role="row"
                aria-rowindex={item.index + 2}
                data-place={item.index}
                data-opens={props.onOpen ? true : undefined}
                tabIndex={item.index === 0 ? 0 : -1}
                className={`${classes.row} ${classes.body}`}
                style={{ ...grid, height: ROW_PX, transform: `translateY(${item.start}px)` }}
                onKeyDown={(event) => walk(event, item.index)}
                onDoubleClick={() => props.onOpen?.(row.original)}
              >
                {columns.map((column) => (
                  <div key={column.id} role="cell" className={classes.cell} data-numeric={column.numeric || undefined}>
                    {column.cell(row.original)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {sorted.length === 0 && (props.empty ?? <Text p="md">Nothing here.</Text>)}
    </Box>
  );
}
