import { expect, test } from "vitest";
import { tabFrom } from "./tabs";

const TABS = { overview: "Overview", log: "Log" };

test("only tabs that there are are shown", () => {
  expect(tabFrom(TABS, "log", "overview")).toBe("log");
  for (const text of [undefined, "", "Log", "constructor", "toString", "__proto__"]) {
    expect(tabFrom(TABS, text, "overview")).toBe("overview");
  }
});
