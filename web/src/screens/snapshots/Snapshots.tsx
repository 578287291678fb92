import { Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconArrowsDiff, IconSearch } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useJobs, useSnapshots } from "../../api/queries";
import { bytes } from "../../logic/format";
import { sortingFrom, sortingText } from "../../logic/sorting";
import { ActionButton } from "../../parts/ActionButton";
import { CopyAs } from "../../parts/CopyAs";
import { DataTable } from "../../parts/DataTable";
import { PlaceLink } from "../../parts/links";
import { Empty, Loaded, ProblemAlert } from "../../parts/Trouble";
import { useViewerRefusal } from "../../parts/viewer";
import { snapshotColumns } from "./columns";
import { comparison } from "./commands";
import { matching, pairOf, toggled } from "./list";
import { startedFrom } from "./manifestFacts";
import { useDelete } from "./useDelete";

const route = getRouteApi("/snapshots");

/** All snapshots. What is looked for stands in the address. */
export function Snapshots() {
  const snapshots = useSnapshots();
  const jobs = useJobs().data;
  const search = route.useSearch();
  const go = useNavigate({ from: "/snapshots" });
  const change = (change: Partial<typeof search>) => void go({ search: { ...search, ...change }, replace: true });
  const [chosen, setChosen] = useState<string[]>([]);
  const { ask, deletion } = useDelete();
  const viewer = useViewerRefusal();
  const users = useMemo(() => startedFrom(jobs ?? []), [jobs]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what `ask` does does not change
  const columns = useMemo(
    () =>
      snapshotColumns({
        users,
        chosen,
        onChoose: (name) => setChosen((before) => toggled(before, name)),
        onDelete: ask,
        refused: viewer,
      }),
    [users, chosen, viewer],
  );
  const open = (snapshot: string, more: { tab?: string; other?: string } = {}) =>
    void go({ to: "/snapshots/$snapshot", params: { snapshot }, search: more });
  const pair = pairOf(snapshots.data ?? [], chosen);
  return (
    <Stack>
      <Title order={1} size="h2">
        Snapshots
      </Title>
      <Group align="end">
        <TextInput
          label="Name, or job"
          leftSection={<IconSearch size={16} aria-hidden="true" />}
          value={search.name ?? ""}
          onChange={(event) => change({ name: event.currentTarget.value || undefined })}
        />
        <Group gap={4}>
          <ActionButton
            variant="default"
            leftSection={<IconArrowsDiff size={16} aria-hidden="true" />}
            refused={pair ? null : "Choose two snapshots in the list."}
            onClick={() => pair && open(pair[0].name, { tab: "compare", other: pair[1].name })}
          >
            Compare two
          </ActionButton>
          {pair && <CopyAs label="the comparison" command={comparison(pair[0].name, pair[1].name)} />}
        </Group>
      </Group>
      {deletion.error && <ProblemAlert error={deletion.error} />}
      <Loaded query={snapshots} height={400}>
        {(all) => {
          const found = matching(all, search.name);
          const size = bytes(found.reduce((sum, snapshot) => sum + snapshot.bytes, 0));
          return (
            <>
              <Text size="sm" c="dimmed" role="status">
                {found.length === all.length ? all.length : `${found.length} of ${all.length}`}{" "}
                {all.length === 1 ? "snapshot" : "snapshots"}, {size}
                {deletion.isPending && ` · Deleting ${deletion.variables.name}…`}
              </Text>
              <DataTable
                label="Snapshots"
                columns={columns}
                rows={found}
                id={(snapshot) => snapshot.name}
                sorting={sortingFrom(search.sort ?? "-created")}
                onSorting={(sorting) => change({ sort: sortingText(sorting) })}
                onOpen={(snapshot) => open(snapshot.name)}
                empty={
                  all.length ? (
                    <Empty title="No snapshot is called so">
                      <PlaceLink to="/snapshots">Show all</PlaceLink>
                    </Empty>
                  ) : (
                    <Empty title="No snapshot yet" command="pitstop save-snapshot my-job monday">
                      A snapshot is a job's state under a name: a job can start from it, be it another version.
                    </Empty>
                  )
                }
              />
            </>
          );
        }}
      </Loaded>
    </Stack>
  );
}
