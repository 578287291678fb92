/** Where objects have come from: the newest pieces of all their ways, as many as can be drawn. */
import type { Rgb } from "./colours";
import type { Point } from "./mercator";
import { packed } from "./raster";

/** Per piece: both ends, and when it was written. */
const PIECE = 5;

/** Pieces of ways; a new one takes the place of the oldest once there are `most`. */
export class Trails {
  readonly colours: Uint32Array;
  private readonly ends: Float64Array;
  private next = 0;
  count = 0;

  constructor(readonly most = 40_000) {
    this.ends = new Float64Array(most * PIECE);
    this.colours = new Uint32Array(most);
  }

  add(from: Point, to: Point, written: number, colour: Rgb) {
    this.ends.set([from.x, from.y, to.x, to.y, written], this.next * PIECE);
    this.colours[this.next] = packed(colour);
    this.next = (this.next + 1) % this.most;
    this.count = Math.min(this.most, this.count + 1);
  }

  clear() {
    this.next = 0;
    this.count = 0;
  }

  /** `0` and `1`: x and y of the beginning, `2` and `3`: of the end, `4`: when it was written. */
  get(piece: number, field: 0 | 1 | 2 | 3 | 4): number {
    return this.ends[piece * PIECE + field] ?? 0;
  }
}
