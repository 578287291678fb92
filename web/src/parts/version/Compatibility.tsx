import { List, Stack, Text, Title } from "@mantine/core";
import { useMemo } from "react";
import type { JobGraph } from "../../api/client";
import { PipelineGraph } from "../graph/PipelineGraph";
import { ReportTable } from "../ReportTable";
import type { Checked } from "./check";
import { Notice } from "./Notice";
import { graphOfPlan } from "./plan";
import { Remedy } from "./Remedy";
import { TwoPlans } from "./TwoPlans";

type Props = {
  checked: Checked;
  renamed: Record<string, string>;
  /** What it was compared with; null if with nothing, or while its pipeline is not known. */
  before: { title: string; graph: JobGraph } | null;
  title: string;
  version: number;
  onCarry: (now: string, old: string) => void;
  busy: boolean;
};

/** What a check has found: the report with what can be done, and the pipelines. */
export function Compatibility({ checked, renamed, before, title, version, onCarry, busy }: Props) {
  const after = useMemo(() => graphOfPlan(checked.plan, version), [checked.plan, version]);
  const { report } = checked;
  return (
    <Stack>
      {report ? (
        <ReportTable
          report={report}
          remedy={(line) => <Remedy line={line} lines={report.lines} onCarry={onCarry} busy={busy} />}
        />
      ) : (
        <Text>It compiles. Nothing was compared: it starts without saved state.</Text>
      )}
      {checked.warnings.length > 0 && (
        <Notice color="yellow" title="Look at this first">
          <Sentences of={checked.warnings} />
        </Notice>
      )}
      {checked.findings.length > 0 && (
        <Notice color="gray" title="What sources and sinks have now">
          <Sentences of={checked.findings} />
        </Notice>
      )}
      {report && before ? (
        <TwoPlans before={before} after={{ title, graph: after }} report={report} renamed={renamed} />
      ) : (
        <section>
          <Title order={3} size="h5" mb={4}>
            {title}
          </Title>
          <PipelineGraph graph={after} label={`Pipeline: ${title}`} height={380} />
        </section>
      )}
    </Stack>
  );
}

function Sentences({ of }: { of: string[] }) {
  return (
    <List size="sm">
      {of.map((sentence) => (
        <List.Item key={sentence}>{sentence}</List.Item>
      ))}
    </List>
  );
}
