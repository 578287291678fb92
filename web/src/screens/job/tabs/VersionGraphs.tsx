import { SimpleGrid, Stack, Text, Title } from "@mantine/core";
import type { Job, JobGraph } from "../../../api/client";
import type { StageFacts, StageMark } from "../../../parts/graph/looks";
import { PipelineGraph } from "../../../parts/graph/PipelineGraph";
import { Loaded } from "../../../parts/Trouble";
import { useGraph } from "../api/reads";
import { comparedGraphs } from "../logic/facts";

/** The pipeline of a version, beside the present one if it is another. */
export function VersionGraphs({ job, version }: { job: Job; version: number }) {
  const before = useGraph(job, version);
  const after = useGraph(job, job.version);
  if (version === job.version) return <Loaded query={after}>{(graph) => <OneGraph graph={graph} marks={{}} />}</Loaded>;
  return (
    <Loaded query={before} height={520}>
      {(old) => <Loaded query={after}>{(present) => <TwoGraphs old={old} present={present} />}</Loaded>}
    </Loaded>
  );
}

function TwoGraphs({ old, present }: { old: JobGraph; present: JobGraph }) {
  const { gone, come, changed } = comparedGraphs(old, present);
  return (
    <Stack gap="xs">
      <Text size="sm" className="breaks">
        {gone.length + come.length + changed.length === 0 &&
          "Both versions have the same stages, which read and give the same."}
        {gone.length > 0 && `Only in version ${old.version}: ${gone.join(", ")}. `}
        {come.length > 0 && `Only in version ${present.version}: ${come.join(", ")}. `}
        {changed.length > 0 && `Read or give something else: ${changed.join(", ")}.`}
      </Text>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <OneGraph graph={old} marks={marked(gone, "dropped")} />
        <OneGraph graph={present} marks={marked(come, "new")} />
      </SimpleGrid>
    </Stack>
  );
}

function OneGraph({ graph, marks }: { graph: JobGraph; marks: Record<string, StageFacts> }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        Version {graph.version}
      </Title>
      <PipelineGraph graph={graph} facts={marks} label={`Pipeline of version ${graph.version}`} height={520} />
    </Stack>
  );
}

function marked(stages: string[], mark: StageMark): Record<string, StageFacts> {
  return Object.fromEntries(stages.map((stage) => [stage, { mark }]));
}
