import { expect, test } from "vitest";
import { linesOf } from "./lines";

function streamOf(bytes: Uint8Array, size: number, onCancel: () => void = () => undefined) {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
    cancel: onCancel,
  });
}

async function all(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of linesOf(stream)) found.push(line);
  return found;
}

test("lines are whole wherever the network cuts them, also within a letter", async () => {
  const bytes = new TextEncoder().encode('{"row": ["ä🚗"]}\n\n{"rows": 1}\nno end');
  for (let size = 1; size <= bytes.length; size++) {
    expect(await all(streamOf(bytes, size))).toEqual(['{"row": ["ä🚗"]}', '{"rows": 1}', "no end"]);
  }
});

test("whoever stops reading lets the stream go", async () => {
  let cancelled = false;
  const bytes = new TextEncoder().encode("a\nb\nc\n");
  const stream = streamOf(bytes, 2, () => {
    cancelled = true;
  });
  for await (const line of linesOf(stream)) {
    expect(line).toBe("a");
    break;
  }
  expect(cancelled).toBe(true);
});
