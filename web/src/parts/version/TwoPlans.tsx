import { Text, Title } from "@mantine/core";
import { useMemo } from "react";
import type { JobGraph } from "../../api/client";
import { PipelineGraph } from "../graph/PipelineGraph";
import type { AnyReport } from "../report";
import { marksOf } from "./plan";
import classes from "./update.module.css";

type Side = { title: string; graph: JobGraph };
type Props = { before: Side; after: Side; report: AnyReport; renamed: Record<string, string> };

const HEIGHT = 380;

/** Two pipelines side by side, each stage with what becomes of it. */
export function TwoPlans({ before, after, report, renamed }: Props) {
  const marks = useMemo(
    () => marksOf(report, before.graph, after.graph, renamed),
    [report, before.graph, after.graph, renamed],
  );
  return (
    <div className={classes.pair}>
      <Plan side={before} facts={marks.before} />
      <Plan side={after} facts={marks.after} />
    </div>
  );
}

function Plan({ side, facts }: { side: Side; facts: ReturnType<typeof marksOf>["before"] }) {
  return (
    <section>
      <Title order={3} size="h5" mb={4} className="breaks">
        {side.title}
      </Title>
      <PipelineGraph graph={side.graph} facts={facts} label={`Pipeline: ${side.title}`} height={HEIGHT} />
      {side.graph.nodes.length === 0 && <Text c="dimmed">No stages.</Text>}
    </section>
  );
}
