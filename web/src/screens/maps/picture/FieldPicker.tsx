import { Button, Group, Select, Stack, Text } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { Empty } from "../../../parts/Trouble";
import type { Field, Place } from "./fields";

type Props = {
  fields: Field[];
  longitude: string | undefined;
  latitude: string | undefined;
  onPick: (place: Place) => void;
  onCancel: (() => void) | undefined;
};

/** Asks which fields hold the coordinates; the answer stands in the address. */
export function FieldPicker({ fields, onPick, onCancel, ...known }: Props) {
  const [longitude, setLongitude] = useState<string | null>(known.longitude ?? null);
  const [latitude, setLatitude] = useState<string | null>(known.latitude ?? null);
  const numbers = fields.filter((field) => field.kind === "number").map((field) => field.path);
  if (numbers.length < 2 && !onCancel) {
    return (
      <Empty title="These values have no coordinates">
        A picture needs two fields with numbers, degrees of longitude and latitude. The first values of this map have{" "}
        {numbers.length === 1 ? "one field with numbers" : "none"}.
      </Empty>
    );
  }
  const pick = (event: FormEvent) => {
    event.preventDefault();
    if (longitude && latitude) onPick({ longitude, latitude });
  };
  return (
    <form onSubmit={pick}>
      <Stack gap="sm" maw={560} mih={400}>
        <Text>Which fields say where an object is?</Text>
        <Group grow align="end">
          <Select label="Longitude" data={numbers} value={longitude} onChange={setLongitude} searchable required />
          <Select label="Latitude" data={numbers} value={latitude} onChange={setLatitude} searchable required />
        </Group>
        <Group justify="flex-end">
          {onCancel && (
            <Button variant="default" onClick={onCancel}>
              Change nothing
            </Button>
          )}
          <Button type="submit" disabled={!longitude || !latitude || longitude === latitude}>
            Show the picture
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
