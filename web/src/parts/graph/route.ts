/** Edges as lines with rounded corners. */
import type { Point } from "./layout";

const RADIUS = 8;

/** The path of an edge for SVG. */
export function pathOf(points: Point[]): string {
  const [first, ...rest] = points;
  if (!first || rest.length === 0) return "";
  let path = `M ${first.x} ${first.y}`;
  points.slice(1, -1).forEach((corner, index) => {
    const before = points[index] as Point;
    const after = points[index + 2] as Point;
    const enter = towards(corner, before);
    const leave = towards(corner, after);
    path += ` L ${enter.x} ${enter.y} Q ${corner.x} ${corner.y} ${leave.x} ${leave.y}`;
  });
  const last = points[points.length - 1] as Point;
  return `${path} L ${last.x} ${last.y}`;
}

/** Where an edge has most room for words: the middle of its longest straight part. */
export function labelPlace(points: Point[]): Point {
  let best = points[0] ?? { x: 0, y: 0 };
  let longest = -1;
  for (let index = 1; index < points.length; index += 1) {
    const [a, b] = [points[index - 1] as Point, points[index] as Point];
    const length = Math.abs(a.x - b.x) + Math.abs(a.y - b.y);
    if (length > longest) {
      longest = length;
      best = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    }
  }
  return best;
}

/** A point on the way from a corner, so far away that the corner can be rounded. */
function towards(corner: Point, other: Point): Point {
  const length = Math.hypot(other.x - corner.x, other.y - corner.y);
  if (length === 0) return corner;
  const part = Math.min(RADIUS, length / 2) / length;
  return { x: corner.x + (other.x - corner.x) * part, y: corner.y + (other.y - corner.y) * part };
}
