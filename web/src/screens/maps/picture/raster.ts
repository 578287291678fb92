/** Discs and lines in a field of pixels. Ten thousand discs take a few milliseconds: a graphics card that is none takes longer. */
import type { Rgb } from "./colours";

/** A pixel: alpha, blue, green, red, from the highest byte to the lowest. */
export function packed([red, green, blue]: Rgb, alpha = 255): number {
  return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export type Disc = {
  /** Of the whole disc, in pixels. */
  radius: number;
  /** Width of the rim within the radius. */
  rim: number;
  rimColour: number;
  /** null: nothing within the rim. */
  fill: number | null;
};

/** A disc drawn beforehand, once for each part of a pixel that its middle may stand at. */
export class Stamp {
  readonly side: number;
  readonly radius: number;
  readonly phases: Uint32Array[] = [];

  constructor(disc: Disc) {
    this.radius = disc.radius;
    this.side = Math.ceil(disc.radius * 2) + 1;
    for (let phase = 0; phase < PHASES * PHASES; phase += 1) {
      const [right, down] = [(phase % PHASES) / PHASES, Math.floor(phase / PHASES) / PHASES];
      this.phases.push(drawn(disc, this.side, right, down));
    }
  }
}

const PHASES = 4;

function drawn({ radius, rim, rimColour, fill }: Disc, side: number, right: number, down: number): Uint32Array {
  const pixels = new Uint32Array(side * side);
  const middle = { x: radius + right, y: radius + down };
  for (let place = 0; place < pixels.length; place += 1) {
    const away = Math.hypot((place % side) + 0.5 - middle.x, Math.floor(place / side) + 0.5 - middle.y);
    const outer = share(radius - away + 0.5);
    const inner = share(radius - rim - away + 0.5);
    const colour = fill === null ? rimColour : mixed(rimColour, fill, inner);
    const alpha = Math.round(255 * (fill === null ? outer - inner : outer));
    pixels[place] = ((alpha << 24) | (colour & 0xffffff)) >>> 0;
  }
  return pixels;
}

export class Raster {
  pixels = new Uint32Array(0);
  width = 0;
  height = 0;

  /** Begin with nothing drawn. */
  clear(width: number, height: number) {
    if (width !== this.width || height !== this.height) {
      this.pixels = new Uint32Array(width * height);
      this.width = width;
      this.height = height;
    } else this.pixels.fill(0);
  }

  /** Put a stamp with its middle at a place; what lies outside is cut. */
  stamp(stamp: Stamp, x: number, y: number) {
    const left = x - stamp.radius;
    const top = y - stamp.radius;
    const startX = Math.floor(left);
    const startY = Math.floor(top);
    const { side } = stamp;
    if (startX + side <= 0 || startY + side <= 0 || startX >= this.width || startY >= this.height) return;
    const phase = Math.floor((top - startY) * PHASES) * PHASES + Math.floor((left - startX) * PHASES);
    const source = stamp.phases[phase];
    if (!source) return;
    const { pixels, width } = this;
    const fromX = Math.max(0, -startX);
    const toX = Math.min(side, width - startX);
    const toY = Math.min(side, this.height - startY);
    for (let row = Math.max(0, -startY); row < toY; row += 1) {
      const target = (startY + row) * width + startX;
      for (let column = fromX; column < toX; column += 1) {
        const pixel = source[row * side + column] as number;
        if (pixel >>> 24 === 0) continue;
        const below = pixels[target + column] as number;
        pixels[target + column] = pixel >>> 24 === 255 || below >>> 24 === 0 ? pixel : over(pixel, below);
      }
    }
  }

  /** A line one pixel wide. */
  line(x0: number, y0: number, x1: number, y1: number, colour: number) {
    const steps = Math.ceil(Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0)));
    if (steps > this.width + this.height || steps === 0) return;
    for (let step = 0; step <= steps; step += 1) {
      const x = Math.floor(x0 + ((x1 - x0) * step) / steps);
      const y = Math.floor(y0 + ((y1 - y0) * step) / steps);
      if (x >= 0 && y >= 0 && x < this.width && y < this.height) this.pixels[y * this.width + x] = colour;
    }
  }
}

/** A pixel over another one. */
export function over(pixel: number, below: number): number {
  const above = pixel >>> 24;
  if (below >>> 24 === 255) return overOpaque(pixel, below, above + (above >> 7));
  const left = ((below >>> 24) * (255 - above)) / 255;
  const alpha = above + left;
  const channel = (shift: number) =>
    Math.round((((pixel >>> shift) & 255) * above + ((below >>> shift) & 255) * left) / alpha) << shift;
  return ((Math.round(alpha) << 24) | channel(16) | channel(8) | channel(0)) >>> 0;
}

/** Two channels at once; shares are counted in 256ths. */
function overOpaque(pixel: number, below: number, share: number): number {
  const rest = 256 - share;
  const outer = (((pixel & 0xff00ff) * share + (below & 0xff00ff) * rest) >>> 8) & 0xff00ff;
  const inner = (((pixel & 0xff00) * share + (below & 0xff00) * rest) >>> 8) & 0xff00;
  return (0xff000000 | outer | inner) >>> 0;
}

function mixed(from: number, to: number, part: number): number {
  const channel = (shift: number) => {
    const [a, b] = [(from >>> shift) & 255, (to >>> shift) & 255];
    return Math.round(a + (b - a) * part) << shift;
  };
  return (channel(16) | channel(8) | channel(0)) >>> 0;
}

function share(value: number): number {
  return Math.max(0, Math.min(1, value));
}
