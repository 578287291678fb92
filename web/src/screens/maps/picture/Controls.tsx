import { Button, Group, Select, Switch } from "@mantine/core";
import { PrefixInput } from "../PrefixInput";
import type { Field } from "./fields";

export type Wishes = {
  /** Milliseconds without a write. */
  stale: number;
  trails: boolean;
  /** The list of what is wrong with an object. */
  faults: string | null;
};

const STALE = [
  { value: "10000", label: "10 s" },
  { value: "60000", label: "1 min" },
  { value: "300000", label: "5 min" },
  { value: "1800000", label: "30 min" },
];

type Props = {
  fields: Field[];
  wishes: Wishes;
  onWishes: (change: Partial<Wishes>) => void;
  colour: string | null;
  onColour: (path: string | null) => void;
  onPick: () => void;
};

/** What the picture shows, and how. */
export function Controls({ fields, wishes, onWishes, colour, onColour, onPick }: Props) {
  const known = fields.filter((field) => field.kind !== "list").map((field) => field.path);
  const colours = colour !== null && !known.includes(colour) ? [...known, colour] : known;
  const lists = fields.filter((field) => field.kind === "list").map((field) => field.path);
  return (
    <Group align="end" gap="sm">
      <PrefixInput />
      <Select
        label="Colour by"
        placeholder="nothing"
        data={colours}
        value={colour}
        onChange={onColour}
        searchable
        clearable
        clearButtonProps={{ "aria-label": "Colour by nothing" }}
        w={170}
      />
      <Select
        label="Faults are in"
        placeholder="no field"
        data={lists}
        value={wishes.faults}
        onChange={(faults) => onWishes({ faults })}
        clearable
        clearButtonProps={{ "aria-label": "No field has faults" }}
        w={170}
      />
      <Select
        label="Stale after"
        data={STALE}
        value={String(wishes.stale)}
        onChange={(value) => value && onWishes({ stale: Number(value) })}
        allowDeselect={false}
        w={110}
      />
      <Switch
        label="Trails of all"
        checked={wishes.trails}
        onChange={(event) => onWishes({ trails: event.currentTarget.checked })}
        mb={8}
      />
      <Button variant="default" onClick={onPick}>
        Coordinates…
      </Button>
    </Group>
  );
}
