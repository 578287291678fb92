import { Alert, Radio, Stack, Text, TextInput } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useState } from "react";
import { answered, api, type Job } from "../../../api/client";
import { useSnapshots } from "../../../api/queries";
import { When } from "../../../parts/When";
import { useAsked } from "../api/act";
import { exportCommand } from "../commands";
import { suggestedName } from "../logic/snapshots";
import { ActionForm } from "./ActionForm";

type Props = {
  job: Job;
  refusals: { keep: string | null; cancel: string | null };
  onClose: () => void;
  onDone: (name: string) => void;
};

/** Saves the state of a job under a name; the job goes on, or ends exactly there. */
export function ExportForm({ job, refusals, onClose, onDone }: Props) {
  const snapshots = useSnapshots().data ?? [];
  const [name, setName] = useState(() => suggestedName(job.name ?? "job", new Date()));
  const [way, setWay] = useState<"keep" | "cancel">(refusals.keep && !refusals.cancel ? "cancel" : "keep");
  const body = { name: name.trim(), cancel: way === "cancel" };
  const mutation = useAsked(
    () => answered(api.POST("/api/v1/jobs/{job}/snapshots", { params: { path: { job: job.id } }, body })),
    () => onDone(body.name),
  );
  const replaced = snapshots.find((snapshot) => snapshot.name === body.name);
  const runs = job.status === "RUNNING";
  return (
    <ActionForm
      title="Export snapshot"
      onClose={onClose}
      does={way === "cancel" ? "Cancel job and export" : "Export snapshot"}
      doing="Exporting…"
      keeps="Close"
      danger={way === "cancel"}
      blocked={body.name === "" || refusals[way] !== null}
      refused={refusals.keep !== null && refusals.cancel !== null ? refusals.keep : null}
      mutation={mutation}
      command={exportCommand(job, body)}
    >
      <Text>
        The state of <bdi className="breaks">{job.name ?? job.id}</bdi> is saved under a name: what its stages keep, and
        how far its sources are read. A job can be started from it later, also with other code.
      </Text>
      <TextInput
        label="Name of the snapshot"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        required
        maxLength={500}
        data-autofocus
      />
      {replaced && (
        <Alert
          color="gray"
          variant="outline"
          icon={<IconAlertTriangle />}
          title="A snapshot of this name is there, and will be replaced"
        >
          {replaced.name} was taken of {replaced.job_name ?? replaced.job_id} <When at={replaced.created} />.
        </Alert>
      )}
      <Radio.Group label="What becomes of the job" value={way} onChange={(value) => setWay(value as typeof way)}>
        <Stack gap="xs" mt="xs">
          <Radio
            value="keep"
            label={runs ? "Keep running" : "Leave the job as it is"}
            description={
              refusals.keep ??
              (runs
                ? "It is saved at the end of an epoch, and the job goes on."
                : "Its state is copied; the job stays as it is.")
            }
            disabled={refusals.keep !== null}
          />
          <Radio
            value="cancel"
            label="Cancel job and export"
            description={
              refusals.cancel ??
              "The job ends exactly where the snapshot ends: started from it again, no event is missed and none comes twice."
            }
            disabled={refusals.cancel !== null}
          />
        </Stack>
      </Radio.Group>
    </ActionForm>
  );
}
