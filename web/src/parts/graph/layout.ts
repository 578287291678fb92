/** Where the stages of a pipeline stand, and how its edges run: worked out by elk, away from the thread that draws. */
import ElkConstructor, { type ELK, type ElkNode } from "elkjs/lib/elk-api";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import type { JobGraph } from "../../api/client";
import { NODE_WIDTH, nodeHeight } from "./looks";

export type Point = { x: number; y: number };
export type Layout = { places: Point[]; routes: Point[][]; width: number; height: number; down: boolean };

let elk: ELK | null = null;

/** Stages have numbers here: their names may hold any sign. */
export function asked(graph: JobGraph, down: boolean, aspect: number | null): ElkNode {
  const place = new Map(graph.nodes.map((node, index) => [node.name, index]));
  return {
    id: "root",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": down ? "DOWN" : "RIGHT",
      "elk.edgeRouting": "ORTHOGONAL",
      "elk.layered.spacing.nodeNodeBetweenLayers": down ? "44" : "64",
      "elk.spacing.nodeNode": "28",
      "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
      ...(aspect && {
        "elk.aspectRatio": String(aspect),
        "elk.layered.wrapping.strategy": "MULTI_EDGE",
        "elk.layered.wrapping.additionalEdgeSpacing": "20",
      }),
    },
    children: graph.nodes.map((node, index) => ({
      id: `n${index}`,
      width: NODE_WIDTH,
      height: nodeHeight(node.keeps_state),
    })),
    edges: graph.edges.flatMap((edge, index) => {
      const [source, target] = [place.get(edge.source), place.get(edge.target)];
      if (source === undefined || target === undefined) return [];
      return [{ id: `e${index}`, sources: [`n${source}`], targets: [`n${target}`] }];
    }),
  };
}

async function laidOut(graph: JobGraph, down: boolean, aspect: number | null = null): Promise<Layout> {
  elk ??= new ElkConstructor({ workerFactory: () => new Worker(workerUrl) });
  const found = await elk.layout(asked(graph, down, aspect));
  const routes: Point[][] = graph.edges.map(() => []);
  for (const edge of found.edges ?? []) {
    const section = edge.sections?.[0];
    if (section) {
      routes[Number(edge.id.slice(1))] = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint];
    }
  }
  return {
    places: (found.children ?? []).map((child) => ({ x: child.x ?? 0, y: child.y ?? 0 })),
    routes,
    width: found.width ?? 0,
    height: found.height ?? 0,
    down,
  };
}

/** Up to so many stages both directions are tried. */
const TRY_BOTH = 80;

/** A layout that goes on in another row has to be so much larger to be worth the detour. */
const WORTH_A_ROW = 1.25;

/** The layout that is seen largest in a box of this size: from left to right, from above, or in several rows. */
export async function bestLayout(graph: JobGraph, box: { width: number; height: number }): Promise<Layout> {
  if (graph.nodes.length > TRY_BOTH) return laidOut(graph, box.width < box.height);
  const [right, down, rows] = await Promise.all([
    laidOut(graph, false),
    laidOut(graph, true),
    laidOut(graph, false, box.width / box.height),
  ]);
  const straight = scale(down, box) > scale(right, box) ? down : right;
  return scale(rows, box) > WORTH_A_ROW * Math.min(1, scale(straight, box)) ? rows : straight;
}

function scale(layout: Layout, box: { width: number; height: number }): number {
  return Math.min(box.width / Math.max(1, layout.width), box.height / Math.max(1, layout.height));
}
