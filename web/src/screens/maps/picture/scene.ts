/** Where objects are, and where they are going: numbers in rows, so that ten thousand can be drawn in a moment. */
import type { Rgb } from "./colours";
import type { Point } from "./mercator";
import { packed } from "./raster";

/** Whoever is further away than this has not driven there. */
const FARTHEST = 0.01;
const USUAL_MS = 1000;
const SHORTEST_MS = 200;
const LONGEST_MS = 10_000;
const ROOM = 1024;

export type Look = { colour: Rgb; fault: boolean; written: number };

/** Per object: from where to where it moves, from when to when (the reader's clock), and when it was written (the map's). */
const WAY = 7;

export class Scene {
  readonly keys: string[] = [];
  colours = new Uint32Array(ROOM);
  faults = new Uint8Array(ROOM);
  /** Until when something moves. */
  movingUntil = 0;
  private ways = new Float64Array(ROOM * WAY);
  /** When each was given its last place, and how long it usually is until the next. */
  private arrived = new Float64Array(ROOM);
  private gaps = new Float64Array(ROOM);
  private readonly slots = new Map<string, number>();

  get count(): number {
    return this.keys.length;
  }

  slotOf(key: string): number | undefined {
    return this.slots.get(key);
  }

  /** Give an object its new place: at once if it is new or `jump`, else it moves there until its next place is to be expected. */
  put(key: string, place: Point, look: Look, now: number, jump: boolean) {
    const known = this.slots.get(key);
    const slot = known ?? this.add(key);
    const from = known === undefined || jump ? place : { x: this.x(slot, now), y: this.y(slot, now) };
    const stays = from === place || Math.hypot(place.x - from.x, place.y - from.y) > FARTHEST;
    const way = stays ? 0 : this.usualWay(slot, now);
    const start = stays ? place : from;
    this.arrived[slot] = now;
    this.ways.set([start.x, start.y, place.x, place.y, now, now + way], slot * WAY);
    this.movingUntil = Math.max(this.movingUntil, now + way);
    this.look(slot, look);
  }

  /** Give an object another look where it is. */
  look(slot: number, look: Look) {
    this.ways[slot * WAY + 6] = look.written;
    this.colours[slot] = packed(look.colour);
    this.faults[slot] = Number(look.fault);
  }

  remove(key: string) {
    const slot = this.slots.get(key);
    const last = this.keys.length - 1;
    const moved = this.keys[last];
    if (slot === undefined || moved === undefined) return;
    this.ways.copyWithin(slot * WAY, last * WAY, (last + 1) * WAY);
    for (const row of [this.colours, this.faults, this.arrived, this.gaps]) row[slot] = row[last] ?? 0;
    this.keys[slot] = moved;
    this.slots.set(moved, slot);
    this.keys.pop();
    this.slots.delete(key);
  }

  x(slot: number, now: number): number {
    return this.between(slot, 0, now);
  }

  y(slot: number, now: number): number {
    return this.between(slot, 1, now);
  }

  written(slot: number): number {
    return this.ways[slot * WAY + 6] ?? 0;
  }

  /** Where an object is now; null if it is not there. */
  position(key: string, now: number): Point | null {
    const slot = this.slots.get(key);
    return slot === undefined ? null : { x: this.x(slot, now), y: this.y(slot, now) };
  }

  /** The object nearest to a place, not farther than `most` away. */
  nearest(place: Point, most: number, now: number): string | null {
    let best: string | null = null;
    let distance = most;
    for (const [slot, key] of this.keys.entries()) {
      const away = Math.hypot(this.x(slot, now) - place.x, this.y(slot, now) - place.y);
      if (away > distance) continue;
      distance = away;
      best = key;
    }
    return best;
  }

  /** What holds all of them: the north-western and the south-eastern corner. */
  bounds(): [Point, Point] | null {
    if (!this.count) return null;
    const [least, most] = [
      { x: 1, y: 1 },
      { x: 0, y: 0 },
    ];
    for (let slot = 0; slot < this.count; slot += 1) {
      const [x, y] = [this.x(slot, Infinity), this.y(slot, Infinity)];
      Object.assign(least, { x: Math.min(least.x, x), y: Math.min(least.y, y) });
      Object.assign(most, { x: Math.max(most.x, x), y: Math.max(most.y, y) });
    }
    return [least, most];
  }

  private between(slot: number, axis: 0 | 1, now: number): number {
    const at = slot * WAY;
    const { ways } = this;
    const [begin = 0, end = 0] = [ways[at + 4], ways[at + 5]];
    const goal = ways[at + 2 + axis] ?? 0;
    if (now >= end) return goal;
    const start = ways[at + axis] ?? 0;
    return start + (goal - start) * Math.max(0, (now - begin) / (end - begin));
  }

  /** As long as it was between its last places, and a little as it was before. */
  private usualWay(slot: number, now: number): number {
    const gap = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, now - (this.arrived[slot] ?? now)));
    const usual = 0.6 * (this.gaps[slot] ?? USUAL_MS) + 0.4 * gap;
    this.gaps[slot] = usual;
    return usual;
  }

  private add(key: string): number {
    const slot = this.keys.length;
    if (slot >= this.arrived.length) this.grow();
    this.keys.push(key);
    this.slots.set(key, slot);
    this.gaps[slot] = USUAL_MS;
    return slot;
  }

  private grow() {
    const room = this.arrived.length * 2;
    this.ways = larger(this.ways, new Float64Array(room * WAY));
    this.arrived = larger(this.arrived, new Float64Array(room));
    this.gaps = larger(this.gaps, new Float64Array(room));
    this.colours = larger(this.colours, new Uint32Array(room));
    this.faults = larger(this.faults, new Uint8Array(room));
  }
}

function larger<T extends Float64Array | Uint32Array | Uint8Array>(old: T, made: T): T {
  made.set(old);
  return made;
}
