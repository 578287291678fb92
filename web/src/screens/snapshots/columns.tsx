import { ActionIcon, Checkbox, Group, Text, Tooltip } from "@mantine/core";
import { IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import type { Job, Snapshot } from "../../api/client";
import { bytes, count } from "../../logic/format";
import type { Column } from "../../parts/DataTable";
import { JobLink } from "../../parts/JobLink";
import { PlaceIcon, PlaceLink } from "../../parts/links";
import { When } from "../../parts/When";

type Props = {
  users: Map<string, Job[]>;
  chosen: string[];
  onChoose: (name: string) => void;
  onDelete: (snapshot: Snapshot) => void;
  /** Why nothing may be deleted now; null if it may. */
  refused: string | null;
};

/** The columns of the list of snapshots; `users` are the jobs that have started from each. */
export function snapshotColumns({ users, chosen, onChoose, onDelete, refused }: Props): Column<Snapshot>[] {
  return [
    {
      id: "choose",
      head: "Compare",
      width: "100px",
      cell: (snapshot) => (
        <Checkbox
          size="xs"
          aria-label={`Compare ${snapshot.name}`}
          checked={chosen.includes(snapshot.name)}
          onChange={() => onChoose(snapshot.name)}
        />
      ),
    },
    {
      id: "name",
      head: "Name",
      width: "minmax(180px, 1.8fr)",
      value: (snapshot) => snapshot.name,
      cell: (snapshot) => (
        <PlaceLink to="/snapshots/$snapshot" params={{ snapshot: snapshot.name }} inherit>
          {snapshot.name}
        </PlaceLink>
      ),
    },
    {
      id: "job",
      head: "Job",
      width: "minmax(120px, 1.2fr)",
      value: (snapshot) => snapshot.job_name ?? snapshot.job_id,
      cell: (snapshot) => <JobLink job={{ id: snapshot.job_id, name: snapshot.job_name }} />,
    },
    {
      id: "created",
      head: "Taken",
      width: "100px",
      value: (snapshot) => snapshot.created,
      cell: (snapshot) => <When at={snapshot.created} />,
    },
    {
      id: "size",
      head: "Size",
      width: "100px",
      numeric: true,
      value: (snapshot) => snapshot.bytes,
      cell: (snapshot) => bytes(snapshot.bytes),
    },
    {
      id: "epoch",
      head: "Epoch",
      width: "90px",
      numeric: true,
      value: (snapshot) => snapshot.epoch,
      cell: (snapshot) => count(snapshot.epoch < 0 ? null : snapshot.epoch),
    },
    {
      id: "users",
      head: "Started from it",
      width: "minmax(170px, 1.7fr)",
      value: (snapshot) => users.get(snapshot.name)?.length ?? 0,
      cell: (snapshot) => <Users jobs={users.get(snapshot.name) ?? []} />,
    },
    {
      id: "actions",
      head: "Actions",
      width: "100px",
      cell: (snapshot) => (
        <Group gap="lg" wrap="nowrap">
          <Tooltip label="Start a job from it">
            <PlaceIcon
              to="/submit"
              search={{ snapshot: snapshot.name }}
              variant="subtle"
              aria-label={`Start a job from ${snapshot.name}`}
            >
              <IconPlayerPlay size={16} />
            </PlaceIcon>
          </Tooltip>
          <Tooltip label={refused ?? "Delete"}>
            <ActionIcon
              variant="subtle"
              color="red"
              aria-label={`Delete ${snapshot.name}`}
              aria-disabled={refused ? true : undefined}
              data-disabled={refused ? true : undefined}
              onClick={() => refused || onDelete(snapshot)}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Tooltip>
        </Group>
      ),
    },
  ];
}

function Users({ jobs }: { jobs: Job[] }) {
  if (!jobs.length)
    return (
      <Text c="dimmed" size="sm">
        –
      </Text>
    );
  return jobs.map((job, index) => (
    <span key={job.id}>
      {index > 0 && ", "}
      <JobLink job={job} /> version {job.version}
    </span>
  ));
}
