/** JSON read so that every digit stays: what JavaScript would write otherwise is kept as it was written. */

type Source = { source?: string };

const rawJSON = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;

/** A number that JavaScript cannot hold, or would write otherwise: 9007199254740993, 1.0. In JSON it is that number again. */
export class Written {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return rawJSON ? rawJSON(this.text) : Number(this.text);
  }
}

/** Valid JSON as a value, with its numbers to the last digit. A browser that does not tell how a number was written rounds it. */
export function parsedExactly(text: string): unknown {
  const exact = (_name: string, value: unknown, context?: Source) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && source !== String(value) ? new Written(source) : value;
  };
  return JSON.parse(text, exact as (name: string, value: unknown) => unknown);
}
