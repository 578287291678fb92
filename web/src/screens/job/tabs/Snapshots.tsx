import { useMemo } from "react";
import type { Job, Snapshot } from "../../../api/client";
import { useSnapshots } from "../../../api/queries";
import { shellLine } from "../../../logic/commands";
import { bytes, count } from "../../../logic/format";
import { sortingFrom, sortingText } from "../../../logic/sorting";
import { type Column, DataTable } from "../../../parts/DataTable";
import { PlaceLink } from "../../../parts/links";
import { Empty, Loaded } from "../../../parts/Trouble";
import { When } from "../../../parts/When";
import { snapshotsOf } from "../logic/snapshots";
import { useSetting } from "../useSetting";

const COLUMNS: Column<Snapshot>[] = [
  {
    id: "name",
    head: "Name",
    width: "minmax(220px, 2fr)",
    value: (snapshot) => snapshot.name,
    cell: (snapshot) => (
      <PlaceLink to="/snapshots/$snapshot" params={{ snapshot: snapshot.name }} inherit>
        {snapshot.name}
      </PlaceLink>
    ),
  },
  {
    id: "created",
    head: "Taken",
    width: "minmax(120px, 1fr)",
    value: (snapshot) => snapshot.created,
    cell: (snapshot) => <When at={snapshot.created} />,
  },
  {
    id: "epoch",
    head: "Epoch",
    width: "110px",
    numeric: true,
    value: (snapshot) => snapshot.epoch,
    cell: (snapshot) => count(snapshot.epoch),
  },
  {
    id: "bytes",
    head: "Size",
    width: "110px",
    numeric: true,
    value: (snapshot) => snapshot.bytes,
    cell: (snapshot) => bytes(snapshot.bytes),
  },
];

/** The named snapshots that were taken of this job. */
export function Snapshots({ job }: { job: Job }) {
  const query = useSnapshots();
  const [sort, setSort] = useSetting("sort", "-created");
  const found = useMemo(() => snapshotsOf(job, query.data ?? []), [job, query.data]);
  return (
    <Loaded query={query}>
      {() =>
        found.length ? (
          <DataTable
            label={`Snapshots of ${job.name ?? job.id}`}
            columns={COLUMNS}
            rows={found}
            id={(snapshot) => snapshot.name}
            sorting={sortingFrom(sort)}
            onSorting={(sorting) => setSort(sortingText(sorting) ?? "")}
          />
        ) : (
          <Empty
            title="No snapshot of this job yet"
            command={shellLine(["pitstop", "save-snapshot", job.name ?? job.id, `${job.name ?? "job"}-1`])}
          >
            Export snapshot, above, saves its state under a name.
          </Empty>
        )
      }
    </Loaded>
  );
}
