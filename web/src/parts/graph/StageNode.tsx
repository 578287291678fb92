import { UnstyledButton } from "@mantine/core";
import {
  IconArrowBarToDown,
  IconArrowBarToRight,
  IconArrowMerge,
  IconArrowsJoin,
  IconClockHour4,
  IconCode,
  IconDatabase,
  IconFilter,
  IconFingerprint,
  IconLayoutColumns,
  IconSearch,
  IconSum,
  type TablerIcon,
} from "@tabler/icons-react";
import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { bytes, rate, short } from "../../logic/format";
import classes from "./graph.module.css";
import { type GraphStage, MARK_COLORS, type StageFacts, stageColor, whatItDoes } from "./looks";

export type StageNodeType = Node<
  {
    stage: GraphStage;
    facts: StageFacts | undefined;
    sentence: string;
    chosen: boolean;
    down: boolean;
    onSelect: ((stage: string) => void) | undefined;
  },
  "stage"
>;

const ICONS: Partial<Record<GraphStage["kind"], TablerIcon>> = {
  source: IconArrowBarToRight,
  sink: IconArrowBarToDown,
  merge: IconArrowMerge,
  join: IconArrowsJoin,
  watermark: IconClockHour4,
  window: IconLayoutColumns,
  session: IconLayoutColumns,
  rolling: IconSum,
  distinct: IconFingerprint,
  lookup: IconSearch,
  stateless: IconFilter,
};

/** A stage in the picture: what it is, what it keeps, how it does. */
export function StageNode({ data, width, height }: NodeProps<StageNodeType>) {
  const { stage, facts, chosen } = data;
  const Icon = ICONS[stage.kind] ?? IconCode;
  const color = stageColor(facts);
  const inner = (
    <>
      <span className={classes.head}>
        <Icon size={16} aria-hidden="true" />
        <span className={classes.name}>{stage.name}</span>
        {facts?.mark && (
          <span className={classes.mark} style={{ background: MARK_COLORS[facts.mark] }}>
            {facts.mark}
          </span>
        )}
      </span>
      <span className={classes.line}>
        <span className={classes.what}>{whatItDoes(stage)}</span>
        <span>{figureOf(facts)}</span>
      </span>
      {stage.keeps_state && (
        <span className={classes.state}>
          <IconDatabase size={14} aria-hidden="true" />
          <span>state</span>
          {typeof facts?.stateRows === "number" && (
            <span className={classes.what}>
              {short(facts.stateRows)} rows{typeof facts.stateBytes === "number" && `, ${bytes(facts.stateBytes)}`}
            </span>
          )}
        </span>
      )}
    </>
  );
  const common = {
    className: classes.node,
    "data-stateful": stage.keeps_state || undefined,
    "data-chosen": chosen || undefined,
    "data-mark": facts?.mark,
    style: { width, height, ...(color && { "--stage-color": color }) },
    title: stage.name,
  };
  return (
    <>
      <Handle type="target" position={data.down ? Position.Top : Position.Left} className={classes.handle} />
      {data.onSelect ? (
        <UnstyledButton
          {...common}
          className={`${classes.node} nodrag`}
          aria-pressed={chosen}
          onClick={() => data.onSelect?.(stage.name)}
        >
          {inner}
        </UnstyledButton>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no pointer walks from stage to stage, and the picture follows
        <div {...common} role="img" aria-label={data.sentence} tabIndex={0}>
          {inner}
        </div>
      )}
      <Handle type="source" position={data.down ? Position.Bottom : Position.Right} className={classes.handle} />
    </>
  );
}

function figureOf(facts: StageFacts | undefined): string {
  if (facts?.lateRows) return `${short(facts.lateRows)} late`;
  return typeof facts?.rowsPerSecond === "number" ? rate(facts.rowsPerSecond) : "";
}
