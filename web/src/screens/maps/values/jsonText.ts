/** JSON as text that keeps every digit: a number of 20 digits, or `1.0`, would come out otherwise if it were read and written. */

type Token = { text: string; at: number };

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

function tokensOf(text: string): Token[] {
  return Array.from(text.matchAll(TOKEN), (match) => ({ text: match[0], at: match.index }));
}

/** Valid JSON, each field on a line of its own. */
export function pretty(text: string): string {
  const tokens = tokensOf(text);
  const found: string[] = [];
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [place, token] of tokens.entries()) {
    const sign = token.text;
    const opens = sign === "{" || sign === "[";
    const before = tokens[place - 1]?.text;
    if (sign === "}" || sign === "]") {
      depth -= 1;
      if (before !== "{" && before !== "[") found.push(line());
    } else if (before === "{" || before === "[") found.push(line());
    found.push(sign);
    if (opens) depth += 1;
    else if (sign === ",") found.push(line());
    else if (sign === ":") found.push(" ");
  }
  return found.join("");
}

/** The part of valid JSON behind these names and places, as it is written there; undefined if there is none. */
export function partOf(text: string, path: (string | number)[]): string | undefined {
  const tokens = tokensOf(text);
  let place = 0;
  for (const step of path) {
    const opener = tokens[place]?.text;
    if (opener !== (typeof step === "number" ? "[" : "{")) return undefined;
    let index = 0;
    place += 1;
    for (;;) {
      const token = tokens[place];
      if (!token || token.text === "}" || token.text === "]") return undefined;
      if (typeof step === "number" ? index === step : JSON.parse(token.text) === step) break;
      place = behind(tokens, typeof step === "number" ? place : place + 2);
      if (tokens[place]?.text === ",") place += 1;
      index += 1;
    }
    if (typeof step === "string") place += 2;
  }
  const first = tokens[place];
  const last = tokens[behind(tokens, place) - 1];
  return first && last ? text.slice(first.at, last.at + last.text.length) : undefined;
}

function behind(tokens: Token[], start: number): number {
  let depth = 0;
  let place = start;
  do {
    const sign = tokens[place]?.text;
    if (sign === "{" || sign === "[") depth += 1;
    else if (sign === "}" || sign === "]") depth -= 1;
    place += 1;
  } while (depth > 0 && place < tokens.length);
  return place;
}

type Source = { source?: string };

/** Valid JSON as a value in which numbers that this page cannot count to are the texts that they are written as. */
export function parsedExactly(text: string): unknown {
  const exact = (_name: string, value: unknown, context?: Source) =>
    typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER ? (context?.source ?? value) : value;
  return JSON.parse(text, exact as (name: string, value: unknown) => unknown);
}

/** Why a text is no JSON, in words, with the line and the column; null if it is. */
export function jsonFault(text: string): string | null {
  if (!text.trim()) return 'Nothing is written here yet. An empty text is written as "", no value as null.';
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const position = /position (\d+)/.exec(said)?.[1];
    const place = position === undefined ? /line (\d+) column (\d+)/.exec(said) : lineOf(text, Number(position));
    const words = said.replace(/^JSON\.parse: /, "").replace(/(,? ".*" is not valid JSON| in JSON)?( at .*)?$/s, "");
    return place ? `Line ${place[1]}, column ${place[2]}: ${words}.` : `${words}.`;
  }
}

function lineOf(text: string, position: number): [string, number, number] {
  const lines = text.slice(0, position).split("\n");
  return ["", lines.length, (lines.at(-1)?.length ?? 0) + 1];
}
