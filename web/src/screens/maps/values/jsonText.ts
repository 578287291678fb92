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

/** So many brackets within each other are taken by the server, and no more. */
const MOST_LEVELS = 199;
/** Nor does it take whole numbers with more digits. */
const MOST_DIGITS = 4300;

/** Why a text is no JSON that the server takes, in words, with the line and the column; null if it is. */
export function jsonFault(text: string): string | null {
  if (!text.trim()) return 'Nothing is written here yet. An empty text is written as "", no value as null.';
  try {
    JSON.parse(text);
    return refusalOf(text);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const position = /position (\d+)/.exec(said)?.[1];
    const place = position === undefined ? /line (\d+) column (\d+)/.exec(said) : lineOf(text, Number(position));
    const words = said.replace(/^JSON\.parse: /, "").replace(/(,? ".*" is not valid JSON| in JSON)?( at .*)?$/s, "");
    return place ? `Line ${place[1]}, column ${place[2]}: ${words}.` : `${words}.`;
  }
}

/** What is wrong with JSON that the server does not take; null if nothing is. */
function refusalOf(text: string): string | null {
  let depth = 0;
  for (const { text: sign, at } of tokensOf(text)) {
    if (sign === "{" || sign === "[") depth += 1;
    else if (sign === "}" || sign === "]") depth -= 1;
    const words = depth > MOST_LEVELS ? `here are more than ${MOST_LEVELS} brackets within each other` : faultOf(sign);
    const [, line, column] = words ? lineOf(text, at) : [];
    if (words) return `Line ${line}, column ${column}: ${words}.`;
  }
  return null;
}

function faultOf(sign: string): string | null {
  if (sign.startsWith('"')) {
    const said: string = sign.includes("\\u") ? JSON.parse(sign) : sign;
    return /\p{Surrogate}/u.test(said) ? "this text has one half of a surrogate pair, which is no character" : null;
  }
  if (!/^-?\d/.test(sign)) return null;
  if (!/^-?\d+$/.test(sign)) return Number.isFinite(Number(sign)) ? null : "this number is too large";
  return sign.length > MOST_DIGITS ? `this number has more than ${MOST_DIGITS} digits` : null;
}

function lineOf(text: string, position: number): [string, number, number] {
  const lines = text.slice(0, position).split("\n");
  return ["", lines.length, (lines.at(-1)?.length ?? 0) + 1];
}
