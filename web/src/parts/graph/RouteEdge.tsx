import { BaseEdge, type Edge, type EdgeProps } from "@xyflow/react";
import classes from "./graph.module.css";
import type { Point } from "./layout";
import { labelPlace, pathOf } from "./route";

export type RouteEdgeType = Edge<{ route: Point[]; words: string | null }, "route">;

/** About as wide as a digit is. */
const SIGN_PX = 7;

/** An edge on the way that was laid out for it, with what it carries. */
export function RouteEdge({ id, data, markerEnd, sourceX, sourceY, targetX, targetY }: EdgeProps<RouteEdgeType>) {
  const given = data?.route ?? [];
  const route =
    given.length > 1
      ? given
      : [
          { x: sourceX, y: sourceY },
          { x: targetX, y: targetY },
        ];
  const place = labelPlace(route);
  const words = data?.words;
  const width = (words?.length ?? 0) * SIGN_PX + 8;
  return (
    <>
      <BaseEdge id={id} path={pathOf(route)} markerEnd={markerEnd} interactionWidth={0} />
      {words && (
        <g transform={`translate(${place.x} ${place.y})`}>
          <rect className={classes.plate} x={-width / 2} y={-9} width={width} height={18} rx={4} />
          <text className={classes.words} textAnchor="middle" dominantBaseline="central">
            {words}
          </text>
        </g>
      )}
    </>
  );
}
