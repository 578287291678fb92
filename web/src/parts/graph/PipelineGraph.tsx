/** The pipeline of a job as a picture: its stages, what they read, which of them keep state, how they do. */
import "@xyflow/react/dist/style.css";
import { Center, Loader, useComputedColorScheme, VisuallyHidden } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { IconMaximize } from "@tabler/icons-react";
import {
  Background,
  ControlButton,
  Controls,
  MarkerType,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  type Viewport,
} from "@xyflow/react";
import { type FocusEvent, useCallback, useEffect, useMemo, useState } from "react";
import type { JobGraph } from "../../api/client";
import { rate } from "../../logic/format";
import classes from "./graph.module.css";
import { bestLayout, type Layout } from "./layout";
import { NODE_WIDTH, nodeHeight, type StageFacts } from "./looks";
import { RouteEdge, type RouteEdgeType } from "./RouteEdge";
import { StageList } from "./StageList";
import { StageNode, type StageNodeType } from "./StageNode";
import { edgeRate, readsOf, sentenceOf } from "./words";

type Props = {
  graph: JobGraph;
  facts?: Record<string, StageFacts>;
  selected?: string;
  onSelect?: (stage: string) => void;
  label: string;
  height?: number;
};

/** More stages than these are a list: no picture of them could be read. */
export const MOST_NODES = 400;
const NOTHING: Record<string, StageFacts> = {};
const nodeTypes = { stage: StageNode };
const edgeTypes = { route: RouteEdge };
const LEAST_ZOOM = 0.05;
/** Small pipelines are shown as they are, not blown up. */
const LARGEST_FIT = 1.1;
/** Below this stages are too small to be read or pressed: the picture begins at its sources, and is moved. */
const READABLE = 0.42;
/** What stays free around the picture. */
const MARGIN_PX = 16;

export function PipelineGraph(props: Props) {
  const { graph, facts = NOTHING, onSelect, label, height = 420 } = props;
  const { ref, width } = useElementSize();
  const { layout, failed } = useLayout(graph, width, height);
  if (failed || graph.nodes.length > MOST_NODES) {
    const why = failed
      ? "The picture could not be laid out: these are the stages."
      : `${graph.nodes.length} stages are too many for a picture: these are they.`;
    return <StageList graph={graph} facts={facts} onSelect={onSelect} label={label} height={height} why={why} />;
  }
  return (
    <figure ref={ref} className={classes.box} style={{ height, margin: 0 }} aria-label={label}>
      {layout ? (
        <ReactFlowProvider>
          <Picture {...props} facts={facts} layout={layout} box={{ width, height }} />
        </ReactFlowProvider>
      ) : (
        <Center h={height}>
          <Loader role="status" aria-label="Laying out the picture" />
        </Center>
      )}
      <VisuallyHidden>
        <InWords graph={graph} facts={facts} />
      </VisuallyHidden>
    </figure>
  );
}

function InWords({ graph, facts }: { graph: JobGraph; facts: Record<string, StageFacts> }) {
  const reads = readsOf(graph);
  return (
    <ul aria-label="Stages in words">
      {graph.nodes.map((stage) => (
        <li key={stage.name}>{sentenceOf(stage, reads.get(stage.name) ?? [], facts[stage.name])}</li>
      ))}
    </ul>
  );
}

function Picture(props: Props & { facts: Record<string, StageFacts>; layout: Layout; box: Box }) {
  const { graph, facts, layout, selected, onSelect, box } = props;
  const scheme = useComputedColorScheme("light");
  const { setViewport, setCenter, getZoom } = useReactFlow();
  const reads = useMemo(() => readsOf(graph), [graph]);
  const nodes = useMemo(
    () =>
      graph.nodes.map<StageNodeType>((stage, index) => ({
        id: `n${index}`,
        type: "stage",
        position: layout.places[index] ?? { x: 0, y: 0 },
        width: NODE_WIDTH,
        height: nodeHeight(stage.keeps_state),
        data: {
          stage,
          facts: facts[stage.name],
          sentence: sentenceOf(stage, reads.get(stage.name) ?? [], facts[stage.name]),
          chosen: selected === stage.name,
          down: layout.down,
          onSelect,
        },
      })),
    [graph, facts, layout, selected, onSelect, reads],
  );
  const edges = useMemo(() => {
    const place = new Map(graph.nodes.map((node, index) => [node.name, index]));
    return graph.edges.map<RouteEdgeType>((edge, index) => {
      const carried = edgeRate(graph, edge, facts);
      return {
        id: `e${index}`,
        type: "route",
        ariaLabel: `${edge.source} to ${edge.target}${carried === null ? "" : `, ${rate(carried)}`}`,
        source: `n${place.get(edge.source)}`,
        target: `n${place.get(edge.target)}`,
        markerEnd: { type: MarkerType.ArrowClosed, width: 18, height: 18 },
        data: { route: layout.routes[index] ?? [], words: carried === null ? null : rate(carried) },
      };
    });
  }, [graph, facts, layout]);
  const show = useCallback(
    (least: number) => void setViewport(wholeOf(layout, { width: box.width, height: box.height }, least)),
    [setViewport, layout, box.width, box.height],
  );
  useEffect(() => show(READABLE), [show]);
  /** A stage that is walked to by keyboard comes into view. */
  const follow = (event: FocusEvent) => {
    const node = event.target.closest<HTMLElement>(".react-flow__node");
    const view = event.currentTarget.getBoundingClientRect();
    const place = layout.places[Number(node?.dataset.id?.slice(1))];
    if (!node || !place || isInside(node.getBoundingClientRect(), view)) return;
    void setCenter(place.x + NODE_WIDTH / 2, place.y + nodeHeight(false) / 2, { zoom: getZoom(), duration: 0 });
  };
  return (
    <ReactFlow
      onFocus={follow}
      nodes={nodes}
      edges={edges}
      nodeTypes={nodeTypes}
      edgeTypes={edgeTypes}
      colorMode={scheme}
      defaultViewport={wholeOf(layout, box, READABLE)}
      minZoom={LEAST_ZOOM}
      maxZoom={2}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      elementsSelectable={false}
      disableKeyboardA11y
      zoomOnScroll={false}
      preventScrolling={false}
      zoomOnDoubleClick={false}
    >
      <Background />
      <Controls showInteractive={false} showFitView={false}>
        <ControlButton onClick={() => show(LEAST_ZOOM)} aria-label="Show all" title="Show all">
          <IconMaximize aria-hidden="true" />
        </ControlButton>
      </Controls>
    </ReactFlow>
  );
}

type Box = { width: number; height: number };

/** The part of the plane that shows a whole layout, its edges too, in the middle of the box. */
function wholeOf(layout: Layout, box: Box, least: number): Viewport {
  const fits = Math.min(
    (box.width - 2 * MARGIN_PX) / Math.max(1, layout.width),
    (box.height - 2 * MARGIN_PX) / Math.max(1, layout.height),
  );
  const zoom = Math.max(least, Math.min(LARGEST_FIT, fits));
  const [x, y] = [(box.width - layout.width * zoom) / 2, (box.height - layout.height * zoom) / 2];
  return layout.down ? { x, y: Math.max(y, MARGIN_PX), zoom } : { x: Math.max(x, MARGIN_PX), y, zoom };
}

function isInside(inner: DOMRect, outer: DOMRect): boolean {
  return (
    inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom
  );
}

/** The layout of a graph's structure: figures that change do not change it. */
function useLayout(graph: JobGraph, width: number, height: number): { layout: Layout | null; failed: boolean } {
  const structure = useMemo(
    () => JSON.stringify([graph.nodes.map((node) => [node.name, node.keeps_state]), graph.edges]),
    [graph],
  );
  const wide = Math.round(width / 100) * 100;
  const [found, setFound] = useState<{ structure: string; layout: Layout | null } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only its structure counts, not which object it is
  useEffect(() => {
    if (!wide || graph.nodes.length > MOST_NODES) return;
    let wanted = true;
    bestLayout(graph, { width: wide, height }).then(
      (layout) => wanted && setFound({ structure, layout }),
      () => wanted && setFound({ structure, layout: null }),
    );
    return () => {
      wanted = false;
    };
  }, [structure, wide, height]);
  const known = found?.structure === structure ? found : null;
  return { layout: known?.layout ?? null, failed: known !== null && known.layout === null };
}
