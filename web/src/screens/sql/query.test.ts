import { expect, test, vi } from "vitest";

// What asks the server needs a window, and is not asked here.
vi.stubGlobal("window", { location: { origin: "http://h" } });
const { Query } = await import("./query");
const { ProblemError } = await import("../../api/client");

const bytes = (text: string) => new TextEncoder().encode(text);
const HEAD = '{"columns": [{"name": "n", "type": "BIGINT"}]}\n';

/** A server's answer that goes on as the test says, and breaks when its reader goes. */
function answer() {
  let control: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      control = controller;
    },
  });
  const open = async (_text: string, signal: AbortSignal) => {
    signal.addEventListener("abort", () => control?.error(new DOMException("", "AbortError")));
    return stream;
  };
  return { open, say: (text: string) => control?.enqueue(bytes(text)), end: () => control?.close() };
}

test("a query that ends has all its rows", async () => {
  const { open, say, end } = answer();
  const query = new Query(open);
  const over = query.run("SELECT n FROM t", 7);
  expect(query.snapshot()).toMatchObject({ phase: "running", text: "SELECT n FROM t", from: 7 });
  say(`${HEAD}{"row": [1]}\n{"row": [2]}\n{"rows": 2}\n`);
  end();
  expect(await over).toMatchObject({ phase: "done", error: null, answers: [{ count: 2, ended: true }] });
  expect(query.snapshot().took).not.toBeNull();
});

test("rows are seen while others are still to come, and stay when it is stopped", async () => {
  const { open, say } = answer();
  let now = 0;
  const query = new Query(open, () => {
    now += 300;
    return now;
  });
  const over = query.run("SELECT n FROM t", 0);
  say(`${HEAD}{"row": [1]}\n`);
  await vi.waitFor(() => expect(query.snapshot().answers[0]?.count).toBe(1));
  expect(query.snapshot().phase).toBe("running");
  query.stop();
  expect(await over).toMatchObject({ phase: "stopped", error: null, answers: [{ count: 1, ended: false }] });
});

test("what the server refuses, and what it says within its answer, is an error", async () => {
  const refused = new Query(async () => {
    throw new ProblemError(400, "USAGE", "From line 1, column 1 to line 1, column 1: Encountered 'X'");
  });
  expect((await refused.run("X", 0)).error?.code).toBe("USAGE");
  const { open, say, end } = answer();
  const late = new Query(open);
  const over = late.run("SHOW JOBS; DROP JOB a", 0);
  say(`${HEAD}{"rows": 0}\n{"error": {"code": "NOT_FOUND", "message": "Job doesn't exist: a", "details": {}}}\n`);
  end();
  const found = await over;
  expect([found.phase, found.error?.message, found.answers.length]).toEqual(["failed", "Job doesn't exist: a", 1]);
});

test("an answer that breaks off says so", async () => {
  const broken = new Query(
    async () =>
      new ReadableStream({
        start(controller) {
          controller.error(new TypeError("network error"));
        },
      }),
  );
  const found = await broken.run("SELECT 1", 0);
  expect([found.phase, found.error?.code]).toEqual(["failed", "UNREACHABLE"]);
});

test("a run that gave way to another says nothing more", async () => {
  const first = answer();
  const second = answer();
  const streams = [first, second];
  const query = new Query((text, signal) => streams[text === "A" ? 0 : 1]?.open(text, signal) ?? Promise.reject());
  const before = query.run("A", 0);
  const after = query.run("B", 0);
  expect((await before).phase).toBe("stopped");
  expect(query.snapshot()).toMatchObject({ phase: "running", text: "B" });
  second.end();
  expect((await after).phase).toBe("done");
});
