import ElkBundled from "elkjs/lib/elk.bundled.js";
import { expect, test, vi } from "vitest";
import type { JobGraph } from "../../api/client";

vi.mock("elkjs/lib/elk-worker.min.js?url", () => ({ default: "" }));

const { asked } = await import("./layout");

/** As many stages, each of which reads the one before it, and some one far before that. */
function chain(length: number): JobGraph {
  const names = Array.from({ length }, (_, place) => `stage ${place}`);
  return {
    version: 1,
    nodes: names.map((name) => ({
      name,
      kind: "stateless",
      description: "select",
      location: "x.py:1",
      keeps_state: false,
      columns: [],
    })),
    edges: names.flatMap((target, place) => [
      ...(place > 0 ? [{ source: names[place - 1] as string, target }] : []),
      ...(place > 20 && place % 10 === 0 ? [{ source: names[place - 20] as string, target }] : []),
    ]),
  };
}

test("a pipeline of 200 stages has its places soon, each its own", { timeout: 300_000 }, async () => {
  const before = process.cpuUsage();
  const found = await new ElkBundled().layout(asked(chain(200), false, null));
  const { user, system } = process.cpuUsage(before);
  // Of a processor, in microseconds: a machine that has other work, too, takes no less of it.
  expect(user + system).toBeLessThan(20_000_000);
  expect(new Set(found.children?.map(({ x, y }) => `${x} ${y}`)).size).toBe(200);
});
