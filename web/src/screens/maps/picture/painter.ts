/** Draws all objects and their trails on a canvas of their own, above the map: the map below is drawn anew only when it moves. */
import type { Rgb } from "./colours";
import type { Point } from "./mercator";
import { type Disc, packed, Raster, Stamp } from "./raster";
import type { Scene } from "./scene";
import type { Trails } from "./trails";

export type View = { centre: Point; zoom: number; width: number; height: number; density: number };
export type Painted = {
  now: number;
  /** The shown moment, and after how long without a write an object is stale: milliseconds of the map's time. */
  mapNow: number;
  stale: number;
  ringed: string | null;
  dark: boolean;
};

/** A trail fades within so much of the map's time. */
const TRAIL_MS = 120_000;
const TILE = 512;
const SMALLEST = 3.5;
const LARGEST = 7;
const FEW = 1000;
const MOST_FAMILIES = 40;
/** Pictures of more pixels are drawn coarser. */
const MOST_PIXELS = 4_000_000;
const RED = packed([224, 31, 31]);

type Tones = { halo: Rgb; grey: Rgb; ring: Rgb };
const LIGHT: Tones = { halo: [255, 255, 255], grey: [107, 107, 107], ring: [12, 12, 12] };
const DARK: Tones = { halo: [20, 20, 20], grey: [168, 168, 168], ring: [242, 242, 242] };

export class Painter {
  private readonly context: CanvasRenderingContext2D;
  private readonly raster = new Raster();
  private readonly families = new Map<string, Family>();
  private image: ImageData | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (!context) throw new Error("This browser draws no pictures: the list shows the same objects.");
    this.context = context;
  }

  draw(view: View, scene: Scene, trails: Trails | null, painted: Painted) {
    const density = Math.min(view.density, Math.sqrt(MOST_PIXELS / (view.width * view.height)));
    const [width, height] = [Math.round(view.width * density), Math.round(view.height * density)];
    if (!width || !height) return;
    this.raster.clear(width, height);
    const world = TILE * 2 ** view.zoom * density;
    const left = view.centre.x * world - width / 2;
    const top = view.centre.y * world - height / 2;
    const at = { world, left, top };
    if (trails) this.drawTrails(trails, at, painted.mapNow);
    this.drawObjects(scene, at, painted, sizeOf(view.zoom, scene.count) * density);
    this.show(width, height);
  }

  private drawObjects(scene: Scene, at: At, painted: Painted, radius: number) {
    const { now, mapNow, stale, ringed } = painted;
    const tones = painted.dark ? DARK : LIGHT;
    const [halo, grey] = [packed(tones.halo), packed(tones.grey)];
    const rim = Math.max(1, radius * 0.28);
    const usual = this.family({ radius, rim, rimColour: halo });
    const still = this.family({ radius, rim: rim * 1.4, rimColour: grey }).of(halo);
    const wrong = this.family({ radius: radius * 1.8, rim: radius * 0.6, rimColour: RED });
    const put = (slot: number, stamp: Stamp) => {
      const x = scene.x(slot, now) * at.world - at.left;
      this.raster.stamp(stamp, x, scene.y(slot, now) * at.world - at.top);
    };
    const faulty: number[] = [];
    for (let slot = 0; slot < scene.count; slot += 1) {
      if (scene.faults[slot]) faulty.push(slot);
      else put(slot, mapNow - scene.written(slot) > stale ? still : usual.of(scene.colours[slot] ?? 0));
    }
    // What is faulty is drawn above what is not.
    for (const slot of faulty) {
      put(slot, wrong.of(mapNow - scene.written(slot) > stale ? halo : (scene.colours[slot] ?? 0)));
    }
    const slot = ringed === null ? undefined : scene.slotOf(ringed);
    if (slot === undefined) return;
    put(
      slot,
      this.family({ radius: radius * 3, rim: Math.max(2, radius * 0.4), rimColour: packed(tones.ring) }).of(null),
    );
  }

  private drawTrails(trails: Trails, at: At, mapNow: number) {
    for (let piece = 0; piece < trails.count; piece += 1) {
      const left = 1 - (mapNow - trails.get(piece, 4)) / TRAIL_MS;
      if (left <= 0) continue;
      const colour = (trails.colours[piece] ?? 0) & 0xffffff;
      const alpha = Math.round(200 * Math.min(1, left));
      this.raster.line(
        trails.get(piece, 0) * at.world - at.left,
        trails.get(piece, 1) * at.world - at.top,
        trails.get(piece, 2) * at.world - at.left,
        trails.get(piece, 3) * at.world - at.top,
        ((alpha << 24) | colour) >>> 0,
      );
    }
  }

  /** Discs that differ in what is in them alone. */
  private family(disc: Omit<Disc, "fill">): Family {
    const name = `${disc.radius} ${disc.rim} ${disc.rimColour}`;
    const known = this.families.get(name);
    if (known) return known;
    // Sizes change while one zooms: those of before are not needed any more.
    if (this.families.size >= MOST_FAMILIES) this.families.clear();
    const made = new Family(disc);
    this.families.set(name, made);
    return made;
  }

  private show(width: number, height: number) {
    const { canvas, raster } = this;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    if (this.image?.data.buffer !== raster.pixels.buffer) {
      this.image = new ImageData(new Uint8ClampedArray(raster.pixels.buffer), width, height);
    }
    this.context.putImageData(this.image, 0, 0);
  }
}

class Family {
  private readonly stamps = new Map<number | null, Stamp>();

  constructor(private readonly disc: Omit<Disc, "fill">) {}

  of(fill: number | null): Stamp {
    let stamp = this.stamps.get(fill);
    if (!stamp) {
      stamp = new Stamp({ ...this.disc, fill });
      this.stamps.set(fill, stamp);
    }
    return stamp;
  }
}

type At = { world: number; left: number; top: number };

/** Radius in pixels: few objects are drawn larger than many, and those that are near larger than those far away. */
function sizeOf(zoom: number, count: number): number {
  const radius = Math.max(SMALLEST, Math.min(LARGEST, ((count > FEW ? 3 : 6) + zoom) / 2));
  return Math.round(radius * 4) / 4;
}
