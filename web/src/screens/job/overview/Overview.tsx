import { Center, Group, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { Job } from "../../../api/client";
import { PipelineGraph } from "../../../parts/graph/PipelineGraph";
import { Loaded } from "../../../parts/Trouble";
import { type Step, useHistory } from "../api/history";
import { useGraph } from "../api/reads";
import { factsOf } from "../logic/facts";
import { useSetting } from "../useSetting";
import { JobCharts } from "./JobCharts";
import { StageDrawer } from "./StageDrawer";

const route = getRouteApi("/jobs/$job");
const GRAPH_PX = 420;

/** The pipeline as it works, and how it did. */
export function Overview({ job }: { job: Job }) {
  const [step, setStep] = useSetting("step", "second");
  const chosen = route.useSearch().stage;
  const go = useNavigate({ from: "/jobs/$job" });
  const graph = useGraph(job, job.version);
  const live = useHistory(job.id, "second");
  const shown = useHistory(job.id, step as Step);
  const facts = useMemo(() => factsOf(job, live.data, Date.now()), [job, live.data]);
  const choose = useCallback(
    (stage: string | undefined) => void go({ search: (before) => ({ ...before, stage }) }),
    [go],
  );
  return (
    <Stack>
      <Title order={2} size="h4">
        Pipeline
      </Title>
      {job.plan === null ? (
        <Center mih={GRAPH_PX}>
          <Text c="dimmed">This version has not been compiled: its pipeline is not known.</Text>
        </Center>
      ) : (
        <Loaded query={graph} height={GRAPH_PX}>
          {(pipeline) => (
            <>
              <PipelineGraph
                graph={pipeline}
                facts={facts}
                selected={chosen}
                onSelect={choose}
                label={`Pipeline of ${job.name ?? job.id}`}
                height={GRAPH_PX}
              />
              <StageDrawer
                job={job}
                graph={pipeline}
                stage={chosen}
                history={shown.data}
                facts={facts}
                onClose={() => choose(undefined)}
              />
            </>
          )}
        </Loaded>
      )}
      <Group justify="space-between">
        <Title order={2} size="h4">
          How it did
        </Title>
        <SegmentedControl
          aria-label="Time that is shown"
          value={step}
          onChange={setStep}
          data={[
            { value: "second", label: "Last 15 minutes" },
            { value: "minute", label: "Last 24 hours" },
          ]}
        />
      </Group>
      {job.config.metrics_enabled === false && (
        <Text size="sm" c="dimmed">
          This job counts no rows by stage: its option metrics_enabled is false.
        </Text>
      )}
      <Loaded query={shown} height={600}>
        {(history) => <JobCharts job={job} history={history} />}
      </Loaded>
    </Stack>
  );
}
