import { expect, test } from "vitest";
import type { StageVerdict } from "../../api/client";
import { heirsOf, isConvertible, migrationHead } from "./remedies";

const line = (stage: string, verdict: StageVerdict["verdict"], rule: string | null, detail = ""): StageVerdict => ({
  stage,
  verdict,
  detail,
  rule,
});
const SPEEDS = line("speeds", "new", "C01");
const COUNTS = line("counts", "new", "C01");
const GAMMA = line("gamma", "new", "C04");

test("new stages with state may take over that of a renamed one, the one that is named first", () => {
  const renamed = line("speed", "refused", "C21", "looks renamed to 'speeds', which would start empty");
  expect(heirsOf(renamed, [COUNTS, GAMMA, SPEEDS, renamed])).toEqual(["speeds", "counts"]);
});

test("new sources may take over the offset of one that is gone", () => {
  const gone = line("beta", "dropped", "C05");
  expect(heirsOf(gone, [SPEEDS, GAMMA, gone])).toEqual(["gamma"]);
});

test("what is refused for its form has no heir", () => {
  const other = line("speed", "refused", "C20");
  expect(heirsOf(other, [SPEEDS, other])).toEqual([]);
  expect(isConvertible(other)).toBe(true);
  expect(isConvertible(line("speed", "converted", "C20"))).toBe(false);
  expect(isConvertible(line("speed", "refused", "C21"))).toBe(false);
});

test("the head of a migration names the stage as Python text", () => {
  expect(migrationHead('a"b').split("\n")[0]).toBe('@ps.migrate("a\\"b")');
});
