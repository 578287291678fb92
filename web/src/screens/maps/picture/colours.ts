/** Colours by a field of the values: a scale for numbers, a colour each for a few words. */
import { numberOf } from "../values/paths";

/** Red, green, blue: 0 to 255. */
export type Rgb = [number, number, number];

export type Scale =
  | { kind: "plain"; colour: Rgb }
  | { kind: "numbers"; from: number; to: number }
  | { kind: "words"; words: { word: string; count: number; colour: Rgb }[]; others: number };

export const PLAIN: Rgb = [0, 114, 178];
export const OTHERS: Rgb = [110, 110, 120];
/** Colours that people who see few colours can tell apart (Okabe and Ito); none is the red of what is faulty. */
const WORD_COLOURS: Rgb[] = [
  [0, 114, 178],
  [230, 159, 0],
  [0, 158, 115],
  [204, 121, 167],
  [86, 180, 233],
  [240, 228, 66],
  [123, 78, 163],
  [140, 86, 75],
];
/** Viridis: even steps look even, in grey too. */
const NUMBER_COLOURS: Rgb[] = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

/** Few enough that each can be drawn beforehand. */
const NUMBER_STEPS = 32;

/** The scale for these values of a field; numbers of a few kinds are words. */
export function scaleOf(values: unknown[]): Scale {
  const counts = new Map<string, number>();
  let numbers = 0;
  let known = 0;
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value === undefined || value === null) continue;
    known += 1;
    const number = numberOf(value);
    if (number !== null) {
      numbers += 1;
      from = Math.min(from, number);
      to = Math.max(to, number);
    }
    const word = wordOf(value);
    if (counts.size < 10_000 || counts.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  if (!known) return { kind: "plain", colour: PLAIN };
  if (numbers >= known * 0.9 && counts.size > WORD_COLOURS.length) return { kind: "numbers", from, to };
  const all = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const words = all
    .slice(0, WORD_COLOURS.length)
    .map(([word, count], place) => ({ word, count, colour: WORD_COLOURS[place] ?? OTHERS }));
  return { kind: "words", words, others: known - words.reduce((sum, each) => sum + each.count, 0) };
}

/** What gives a value of the field its colour. */
export function colouring(scale: Scale): (value: unknown) => Rgb {
  if (scale.kind === "plain") return () => scale.colour;
  if (scale.kind === "words") {
    const known = new Map(scale.words.map((each) => [each.word, each.colour]));
    return (value) => (value === undefined || value === null ? OTHERS : (known.get(wordOf(value)) ?? OTHERS));
  }
  return (value) => {
    const number = numberOf(value);
    if (number === null) return OTHERS;
    const share = scale.to > scale.from ? (number - scale.from) / (scale.to - scale.from) : 0;
    return onScale(Math.round(share * NUMBER_STEPS) / NUMBER_STEPS);
  };
}

/** The colour at a share of the numeric scale; what lies outside has the colour of its end. */
export function onScale(share: number): Rgb {
  const place = Math.max(0, Math.min(1, share)) * (NUMBER_COLOURS.length - 1);
  const below = NUMBER_COLOURS[Math.floor(place)] ?? OTHERS;
  const above = NUMBER_COLOURS[Math.ceil(place)] ?? below;
  const part = place - Math.floor(place);
  return below.map((colour, channel) => Math.round(colour + ((above[channel] ?? 0) - colour) * part)) as Rgb;
}

export function css([red, green, blue]: Rgb): string {
  return `rgb(${red} ${green} ${blue})`;
}

function wordOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
