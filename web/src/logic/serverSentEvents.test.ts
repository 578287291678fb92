import { expect, test } from "vitest";
import { eventReader } from "./serverSentEvents";

const TEXT =
  'id: a.1\nevent: job\ndata: {"key": "x"}\n\n: a comment\nevent:ready\ndata: {}\n\ndata: one\ndata: two\n\nevent: none\n\n';
const EVENTS = [
  { kind: "job", data: '{"key": "x"}' },
  { kind: "ready", data: "{}" },
  { kind: "message", data: "one\ntwo" },
];

test("events are the same in whatever pieces they come, and with whatever ends of lines", () => {
  for (const text of [TEXT, TEXT.replaceAll("\n", "\r\n")]) {
    for (let size = 1; size <= text.length; size++) {
      const read = eventReader();
      const found = [];
      for (let at = 0; at < text.length; at += size) found.push(...read(text.slice(at, at + size)));
      expect(found).toEqual(EVENTS);
    }
  }
});

test("an event is given once it is whole", () => {
  const read = eventReader();
  expect(read("event: job\ndata: 1\n")).toEqual([]);
  expect(read("\n")).toEqual([{ kind: "job", data: "1" }]);
});
