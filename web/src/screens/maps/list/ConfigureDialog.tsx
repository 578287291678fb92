import { Alert, Button, Group, Modal, NumberInput, Stack, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { answered, api, type MapFacts } from "../../../api/client";
import { keys } from "../../../api/queries";
import { count } from "../../../logic/format";
import { CopyAs } from "../../../parts/CopyAs";
import { ProblemAlert } from "../../../parts/Trouble";
import { useAction } from "../../../parts/useAction";
import { configureCommand } from "../commands";
import { eventsKept } from "./JournalFill";

const USUAL_CAPACITY = 10_000;

/** Settings of a map; without a map, of one that is to be made. */
export function ConfigureDialog({ map, onClose }: { map: MapFacts | null; onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState(map?.name ?? "");
  const [capacity, setCapacity] = useState<string | number>(map?.journal_capacity ?? USUAL_CAPACITY);
  const [seconds, setSeconds] = useState<string | number>(map?.ttl_seconds ?? 0);
  const body = { journal_capacity: Number(capacity), ttl_seconds: Number(seconds) };
  const save = useAction({
    mutationFn: () => answered(api.PUT("/api/v1/maps/{name}", { params: { path: { name } }, body })),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.maps });
      onClose();
    },
  });
  const dropped = map ? eventsKept(map) - body.journal_capacity : 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Modal opened onClose={onClose} title={map ? <span className="breaks">Configure {map.name}</span> : "Make a map"}>
      <form onSubmit={submit}>
        <Stack>
          {!map && (
            <TextInput
              label="Name"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              required
              data-autofocus
            />
          )}
          <NumberInput
            label="Journal capacity"
            description="Events the journal keeps. 0: no journal, so no job can read the map's changes."
            value={capacity}
            onChange={setCapacity}
            min={0}
            allowDecimal={false}
            thousandSeparator=","
            required
          />
          <NumberInput
            label="Time to live, in seconds"
            description="An entry expires so long after its last write. 0: never."
            value={seconds}
            onChange={setSeconds}
            min={0}
            thousandSeparator=","
            required
          />
          {dropped > 0 && (
            <Alert color="orange" variant="outline" title={`${count(dropped)} events are dropped`}>
              The journal holds more than it then keeps: its oldest events go, and jobs that have not read them lose
              them.
            </Alert>
          )}
          {save.error && <ProblemAlert error={save.error} />}
          <Group justify="flex-end">
            <CopyAs
              command={configureCommand(name, body.journal_capacity, body.ttl_seconds)}
              label={map ? "this configuration" : "making this map"}
            />
            <Button variant="default" onClick={onClose}>
              Change nothing
            </Button>
            <Button type="submit" loading={save.isPending}>
              {map ? "Configure map" : "Make map"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
