import { Spotlight, type SpotlightActionData, type SpotlightActionGroupData } from "@mantine/spotlight";
import { IconSearch } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useJobs, useMaps, useSnapshots } from "../api/queries";

/** So many of a kind are offered before something is typed. */
const MOST = 7;

/** Ctrl K: every place, job, snapshot and map by a few letters of its name. */
export function Palette() {
  const go = useNavigate();
  const jobs = useJobs().data;
  const snapshots = useSnapshots().data;
  const maps = useMaps().data;
  const groups = useMemo<SpotlightActionGroupData[]>(() => {
    const place = (
      label: string,
      description: string,
      to: "/" | "/jobs" | "/submit" | "/snapshots" | "/maps" | "/cluster",
    ) => ({
      id: `place ${to}`,
      label,
      description,
      onClick: () => void go({ to }),
    });
    const named = (
      kind: string,
      id: string,
      label: string,
      description: string,
      onClick: () => void,
    ): SpotlightActionData => ({
      id: `${kind} ${id}`,
      label,
      description,
      onClick,
    });
    return [
      {
        group: "Go to",
        actions: [
          place("Overview", "What needs you now", "/"),
          place("Jobs", "All jobs", "/jobs"),
          place("Submit a job", "From a file, or from a snapshot", "/submit"),
          place("Snapshots", "Saved states", "/snapshots"),
          place("Maps", "Entries, journals, moving pictures", "/maps"),
          place("Cluster", "Members, shut down", "/cluster"),
        ],
      },
      {
        group: "Jobs",
        actions: (jobs ?? []).map((job) =>
          named(
            "job",
            job.id,
            job.name ?? job.id,
            job.status,
            () => void go({ to: "/jobs/$job", params: { job: job.id } }),
          ),
        ),
      },
      {
        group: "Snapshots",
        actions: (snapshots ?? []).map((found) =>
          named(
            "snapshot",
            found.name,
            found.name,
            `of ${found.job_name ?? found.job_id}`,
            () => void go({ to: "/snapshots/$snapshot", params: { snapshot: found.name } }),
          ),
        ),
      },
      {
        group: "Maps",
        actions: (maps ?? []).map((map) =>
          named(
            "map",
            map.name,
            map.name,
            `${map.size.toLocaleString("en-US")} entries`,
            () => void go({ to: "/maps/$map", params: { map: map.name } }),
          ),
        ),
      },
    ];
  }, [jobs, snapshots, maps, go]);
  return (
    <Spotlight
      actions={groups}
      limit={MOST * 4}
      shortcut={["mod + K"]}
      nothingFound="Nothing of that name"
      highlightQuery
      scrollable
      searchProps={{
        leftSection: <IconSearch size={18} />,
        placeholder: "A job, a snapshot, a map, a place…",
        "aria-label": "Find",
      }}
    />
  );
}
