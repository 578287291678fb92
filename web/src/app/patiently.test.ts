import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { patiently } from "./patiently";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a part is loaded once the server is back", async () => {
  let up = false;
  let came = () => {};
  const back = new Promise<void>((done) => {
    came = done;
  });
  const load = vi.fn(async () => {
    if (!up) throw new Error("away");
    return "screen";
  });
  const loaded = patiently(load, () => back);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(load).toHaveBeenCalledTimes(1);
  up = true;
  came();
  await expect(loaded).resolves.toBe("screen");
});

test("a part that the server does not have any more is an error in the end", async () => {
  const load = vi.fn(async () => {
    throw new Error("404");
  });
  const loaded = expect(patiently(load, async () => {})).rejects.toThrow("404");
  await vi.advanceTimersByTimeAsync(60_000);
  await loaded;
  expect(load).toHaveBeenCalledTimes(5);
});
