import { expect, test } from "vitest";
import { age, bytes, count, duration, moment, rate, short } from "./format";

const now = Date.parse("2026-11-23T12:00:00Z");

test("what is not known is a dash, never NaN", () => {
  for (const format of [count, short, rate, bytes, duration]) {
    for (const value of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY]) expect(format(value)).toBe("–");
  }
  expect(age(null, now)).toBe("–");
  expect(age("no time", now)).toBe("–");
});

test("figures keep three digits", () => {
  expect(short(999)).toBe("999");
  expect(short(1234)).toBe("1.23k");
  expect(short(12_345)).toBe("12.3k");
  expect(short(1_234_567)).toBe("1.23M");
  expect(rate(0)).toBe("0/s");
  expect(bytes(1536)).toBe("1.50 KiB");
  expect(count(1_234_567)).toBe("1,234,567");
});

test("durations are told in the units that matter", () => {
  expect(duration(12)).toBe("12 ms");
  expect(duration(1200)).toBe("1.2 s");
  expect(duration(59_999)).toBe("1 min 0 s");
  expect(duration(3_661_000)).toBe("1 h 1 min");
  expect(duration(90_000_000)).toBe("1 d 1 h");
  expect(duration(-1500)).toBe("-1.5 s");
});

test("ages say how long ago, or how soon", () => {
  expect(age("2026-11-23T11:59:58Z", now)).toBe("just now");
  expect(age("2026-11-23T11:58:30Z", now)).toBe("1 min ago");
  expect(age("2026-11-21T12:00:00Z", now)).toBe("2 d ago");
  expect(age("2026-11-23T13:00:00Z", now)).toBe("in 1 h");
});

test("a moment as the reader wants it", () => {
  const at = "2026-11-24T10:20:11.500Z";
  const now = Date.parse(at) + 65_000;
  expect(moment(at, now, "relative")).toBe("1 min ago");
  expect(moment(at, now, "utc")).toBe("2026-11-24 10:20:11 UTC");
  expect(Date.parse(moment(at, now, "local"))).toBe(Date.parse("2026-11-24T10:20:11Z"));
  expect([moment(null, now, "utc"), moment("soon", now, "utc")]).toEqual(["–", "–"]);
});
