/** Server-sent events out of the pieces of an answer, for a stream whose request carries a header, which EventSource cannot send. */

export type ServerSentEvent = { kind: string; data: string };

/** Returns a function that takes the next piece of text, and gives the events that are whole by then. */
export function eventReader(): (piece: string) => ServerSentEvent[] {
  let rest = "";
  let kind = "";
  let data: string[] = [];
  return (piece) => {
    const events: ServerSentEvent[] = [];
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (data.length) events.push({ kind: kind || "message", data: data.join("\n") });
        kind = "";
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") kind = value;
      if (field === "data") data.push(value);
    }
    return events;
  };
}
