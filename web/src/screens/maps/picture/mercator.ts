/** Places on a flat world of size 1 by 1: x eastwards from the date line, y southwards from the north. */

const MOST_LATITUDE = 85.051_129;

export type Point = { x: number; y: number };

export function mercator(longitude: number, latitude: number): Point {
  const held = Math.max(-MOST_LATITUDE, Math.min(MOST_LATITUDE, latitude));
  const sine = Math.sin((held * Math.PI) / 180);
  return { x: (longitude + 180) / 360, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) };
}

export function degrees({ x, y }: Point): { longitude: number; latitude: number } {
  const latitude = (360 / Math.PI) * Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) - 90;
  return { longitude: x * 360 - 180, latitude };
}
