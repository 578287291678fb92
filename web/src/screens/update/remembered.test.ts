import { expect, test } from "vitest";
import { readRemembered } from "./remembered";

test("what was written is read, anything else is nothing", () => {
  const whole = { after: 3, watchSeconds: 60, suspended: false, previous: 1 };
  expect(readRemembered(JSON.stringify(whole))).toEqual(whole);
  for (const text of [
    null,
    "",
    "x{",
    "3",
    '{"after":"3","watchSeconds":0,"suspended":true,"previous":1}',
    '{"after":3}',
  ]) {
    expect(readRemembered(text)).toBeNull();
  }
});
