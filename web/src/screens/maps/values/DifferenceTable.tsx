import { Table } from "@mantine/core";
import { type Difference, shortValue } from "./difference";
import classes from "./values.module.css";

type Props = { label: string; found: Difference[]; heads?: [string, string] };

/** Differences of two JSON values, one field to a line. */
export function DifferenceTable({ label, found, heads = ["Before", "After"] }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section className={classes.differences} tabIndex={0} aria-label={label}>
      <Table aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Field</Table.Th>
            <Table.Th>{heads[0]}</Table.Th>
            <Table.Th>{heads[1]}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {found.map((one) => (
            <Table.Tr key={one.path}>
              <Table.Td className={classes.place}>{one.path || "the value"}</Table.Td>
              <Table.Td className={classes.before}>{one.kind === "added" ? "" : shortValue(one.before, 2000)}</Table.Td>
              <Table.Td className={classes.after}>{one.kind === "removed" ? "" : shortValue(one.after, 2000)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}
