/** A stream of bytes as lines of text. */

/** Each line once it is whole, without its end; empty ones are left out. */
export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  // The beginnings of a long line are put together once: not anew with each bit that comes.
  let begun: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const pieces = decoder.decode(value, { stream: !done }).split("\n");
      const last = pieces.pop() ?? "";
      for (const piece of pieces) {
        const line = [...begun, piece].join("");
        begun = [];
        if (line) yield line;
      }
      if (last) begun.push(last);
      if (done) break;
    }
    if (begun.length) yield begun.join("");
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
