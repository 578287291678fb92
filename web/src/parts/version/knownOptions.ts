/** The job options that there are, as the server's own description tells of them. */
export type KnownOption = {
  name: string;
  meaning: string;
  /** All values there are, if they can be listed. */
  values: string[];
};
export type OptionsRequest = "submit" | "update";
const ROUTES: Record<OptionsRequest, string> = { submit: "/api/v1/jobs", update: "/api/v1/jobs/{job}/update" };
/** What the page asks for by fields of its own. */
const ASKED_ELSEWHERE = new Set(["renamed", "initial_snapshot"]);

/** The options that this request takes, as `/openapi.json` describes it. */
export function optionsIn(description: unknown, request: OptionsRequest): KnownOption[] {
  const schema = into(
    description,
    "paths",
    ROUTES[request],
    "post",
    "requestBody",
    "content",
    "application/json",
    "schema",
  );
  const options = into(schema, "properties", "options", "properties") as
    | Record<string, { description?: unknown; examples?: unknown }>
    | undefined;
  return Object.entries(options ?? {})
    .filter(([name]) => !ASKED_ELSEWHERE.has(name))
    .map(([name, option]) => ({
      name,
      meaning: String(option?.description ?? ""),
      values: Array.isArray(option?.examples) ? option.examples.map(String) : [],
    }));
}

function into(value: unknown, ...steps: string[]): unknown {
  return steps.reduce<unknown>(
    (found, step) =>
      typeof found === "object" && found !== null ? (found as Record<string, unknown>)[step] : undefined,
    value,
  );
}
