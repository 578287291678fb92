import { Checkbox, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { DisplayStatus } from "../../api/client";
import { useJobs, useSnapshots } from "../../api/queries";
import { sortingFrom, sortingText } from "../../logic/sorting";
import { DataTable } from "../../parts/DataTable";
import { PlaceButton, PlaceLink } from "../../parts/links";
import { Empty, Loaded } from "../../parts/Trouble";
import { jobColumns } from "./columns";
import { lastSnapshots, matching, STATES, statesOf } from "./filter";
import { SavedFilters } from "./SavedFilters";

const route = getRouteApi("/jobs");

/** All jobs that are remembered. What is looked for stands in the address. */
export function Jobs() {
  const jobs = useJobs();
  const snapshots = useSnapshots().data;
  const search = route.useSearch();
  const go = useNavigate({ from: "/jobs" });
  const change = (change: Partial<typeof search>) => void go({ search: { ...search, ...change }, replace: true });
  const states = statesOf(search.status);
  const taken = useMemo(() => lastSnapshots(snapshots ?? []), [snapshots]);
  const columns = useMemo(() => jobColumns(taken), [taken]);
  const toggle = (state: DisplayStatus, on: boolean) => {
    const next = STATES.filter((each) => (each === state ? on : states.includes(each)));
    change({ status: next.join(",") || undefined });
  };
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Jobs
        </Title>
        <PlaceButton to="/submit">Submit a job</PlaceButton>
      </Group>
      <Group align="end">
        <TextInput
          label="Name or id"
          leftSection={<IconSearch size={16} aria-hidden="true" />}
          value={search.name ?? ""}
          onChange={(event) => change({ name: event.currentTarget.value || undefined })}
        />
        <Checkbox.Group label="States" value={states}>
          <Group gap="sm" mih={36}>
            {STATES.map((state) => (
              <Checkbox
                key={state}
                value={state}
                label={state}
                size="xs"
                onChange={(event) => toggle(state, event.currentTarget.checked)}
              />
            ))}
          </Group>
        </Checkbox.Group>
        <SavedFilters now={search} onChoose={(filter) => void go({ search: filter })} />
      </Group>
      <Loaded query={jobs} height={400}>
        {(all) => {
          const found = matching(all, search.name, states);
          return (
            <>
              <Text size="sm" c="dimmed" role="status">
                {found.length === all.length ? `${all.length} jobs` : `${found.length} of ${all.length} jobs`}
              </Text>
              <DataTable
                label="Jobs"
                columns={columns}
                rows={found}
                id={(job) => job.id}
                sorting={sortingFrom(search.sort)}
                onSorting={(sorting) => change({ sort: sortingText(sorting) })}
                onOpen={(job) => void go({ to: "/jobs/$job", params: { job: job.id } })}
                empty={
                  all.length ? (
                    <Empty title="No job is like that">
                      <PlaceLink to="/jobs">Show all</PlaceLink>
                    </Empty>
                  ) : (
                    <Empty title="No job yet" command="pitstop submit my_job.py" />
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
