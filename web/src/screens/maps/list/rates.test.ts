import { expect, test } from "vitest";
import { WriteRates } from "./rates";

test("the rate is what was written by the time it took", () => {
  const rates = new WriteRates();
  rates.saw("m", 100, 0);
  expect(rates.perSecond("m", 500)).toBeNull();
  rates.saw("m", 150, 1000);
  rates.saw("m", 300, 4000);
  expect(rates.perSecond("m", 4000)).toBe(50);
});

test("a map that nobody writes to comes to rest", () => {
  const rates = new WriteRates();
  rates.saw("m", 100, 0);
  expect(rates.perSecond("m", 2000)).toBe(0);
  rates.saw("m", 200, 3000);
  expect(rates.perSecond("m", 5000)).toBe(20);
  expect(rates.perSecond("m", 13_001)).toBe(0);
});

test("only the last ten seconds count, from the last sample before them", () => {
  const rates = new WriteRates();
  for (const [second, newest] of [
    [0, 0],
    [1, 1000],
    [10, 1010],
    [20, 1020],
  ] as const) {
    rates.saw("m", newest, second * 1000);
  }
  expect(rates.perSecond("m", 20_000)).toBe(1);
});

test("a map that was made anew begins anew", () => {
  const rates = new WriteRates();
  rates.saw("m", 500, 0);
  rates.saw("m", 3, 5000);
  expect(rates.perSecond("m", 7000)).toBe(0);
  expect(rates.perSecond("nobody", 7000)).toBeNull();
});
