/** Places in JSON values, written as text: `position.lat`, `coordinates.0`; a dot within a name is `\.`. */

type Step = string | number;

/** The place as text. */
export function pathText(steps: Step[]): string {
  return steps.map((step) => String(step).replaceAll(/[\\.]/g, "\\$&")).join(".");
}

/** The steps of a place that is written as text. */
export function pathSteps(text: string): string[] {
  const steps: string[] = [];
  let step = "";
  for (let place = 0; place < text.length; place += 1) {
    const sign = text.charAt(place);
    if (sign === "\\") {
      place += 1;
      step += text.charAt(place);
    } else if (sign === ".") {
      steps.push(step);
      step = "";
    } else step += sign;
  }
  steps.push(step);
  return steps;
}

/** Reads the same place of many values; what is not there is undefined. */
export function reader(path: string): (value: unknown) => unknown {
  const steps = pathSteps(path);
  return (value) => {
    let found: unknown = value;
    for (const step of steps) {
      if (typeof found !== "object" || found === null || !Object.hasOwn(found, step)) return undefined;
      found = (found as Record<string, unknown>)[step];
    }
    return found;
  };
}

/** A number, or a text that is one; anything else is null. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}
