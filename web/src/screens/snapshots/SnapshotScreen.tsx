import { Group, Space, Stack, Tabs, Text, Title } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import type { Snapshot, SnapshotManifest } from "../../api/client";
import { useSnapshots } from "../../api/queries";
import { bytes } from "../../logic/format";
import { tabFrom } from "../../logic/tabs";
import { ActionButton } from "../../parts/ActionButton";
import { CopyAs } from "../../parts/CopyAs";
import { PipelineGraph } from "../../parts/graph/PipelineGraph";
import { JobLink } from "../../parts/JobLink";
import { PlaceButton } from "../../parts/links";
import { Empty, Loaded, ProblemAlert } from "../../parts/Trouble";
import { graphOfPlan } from "../../parts/version/plan";
import { useViewerRefusal } from "../../parts/viewer";
import { When } from "../../parts/When";
import { Compare } from "./Compare";
import { Contents } from "./Contents";
import { deletion as deletionCommand, inspection } from "./commands";
import { useManifest } from "./manifest";
import { bytesOf, stagesOf } from "./manifestFacts";
import { State } from "./State";
import classes from "./snapshots.module.css";
import { useDelete } from "./useDelete";

const route = getRouteApi("/snapshots/$snapshot");
const TABS = { contents: "Contents", pipeline: "Pipeline", compare: "Compare", state: "State" };
type Tab = keyof typeof TABS;

/** A snapshot: what is in it, of which pipeline, how it differs from another, and its state as tables. */
export function SnapshotScreen() {
  const { snapshot: name } = route.useParams();
  const record = useSnapshots().data?.find((snapshot) => snapshot.name === name);
  const manifest = useManifest(name, record?.created);
  return (
    <Stack>
      <Head name={name} record={record} />
      <Loaded query={manifest} height={400}>
        {(found) => <Inside key={found.created} manifest={found} />}
      </Loaded>
    </Stack>
  );
}

function Head({ name, record }: { name: string; record: Snapshot | undefined }) {
  const go = useNavigate();
  const viewer = useViewerRefusal();
  const { ask, deletion } = useDelete(() => void go({ to: "/snapshots" }));
  return (
    <>
      <Group justify="space-between" align="start">
        <div>
          <Title order={1} size="h2" className="breaks">
            Snapshot {name}
          </Title>
          {record && (
            <Text c="dimmed" className={classes.lead}>
              of <JobLink job={{ id: record.job_id, name: record.job_name }} />, taken <When at={record.created} />,{" "}
              {bytes(record.bytes)}
            </Text>
          )}
        </div>
        <Group gap={4}>
          <PlaceButton
            to="/submit"
            search={{ snapshot: name }}
            leftSection={<IconPlayerPlay size={16} aria-hidden="true" />}
          >
            Start a job from it
          </PlaceButton>
          <CopyAs label="looking into it" command={inspection(name)} />
          <Space w="lg" visibleFrom="sm" />
          <ActionButton
            variant="outline"
            color="red"
            refused={viewer ?? (record ? null : "There is no such snapshot.")}
            disabled={deletion.isPending}
            onClick={() => record && ask(record)}
          >
            {deletion.isPending ? "Deleting…" : "Delete"}
          </ActionButton>
          <CopyAs label="deleting it" command={deletionCommand(name)} />
        </Group>
      </Group>
      {deletion.error && <ProblemAlert error={deletion.error} />}
    </>
  );
}

function Inside({ manifest }: { manifest: SnapshotManifest }) {
  const search = route.useSearch();
  const go = useNavigate({ from: "/snapshots/$snapshot" });
  const change = (change: Partial<typeof search>) => void go({ search: { ...search, ...change }, replace: true });
  const tab: Tab = tabFrom(TABS, search.tab, "contents");
  const graph = useMemo(() => graphOfPlan(manifest.plan, 1), [manifest]);
  const stages = useMemo(() => stagesOf(manifest), [manifest]);
  const panels: Record<Tab, ReactNode> = {
    contents: <Contents manifest={manifest} stages={stages} bytes={bytesOf(manifest)} />,
    pipeline: graph.nodes.length ? (
      <PipelineGraph graph={graph} label={`The pipeline that ${manifest.name} was taken of`} height={520} />
    ) : (
      <Empty title="It says nothing of its pipeline" />
    ),
    compare: (
      <Compare manifest={manifest} graph={graph} other={search.other ?? null} onOther={(other) => change({ other })} />
    ),
    state: (
      <State
        snapshot={manifest.name}
        stages={stages}
        stage={search.stage ?? null}
        onStage={(stage) => change({ stage })}
      />
    ),
  };
  return (
    <Tabs
      value={tab}
      onChange={(next) => change({ tab: next === "contents" || !next ? undefined : next })}
      keepMounted={false}
    >
      <Tabs.List mb="md">
        {Object.entries(TABS).map(([value, label]) => (
          <Tabs.Tab key={value} value={value}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={tab}>{panels[tab]}</Tabs.Panel>
    </Tabs>
  );
}
