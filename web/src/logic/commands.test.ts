import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { curlLine, pathTo, shellLine } from "./commands";

const EVIL = ["plain", "two words", "it's", "$(reboot)", "`x`", 'a"b', "new\nline", "-v", "", "ä€", "\\"];

test("a shell reads the very words that were meant", () => {
  const printed = execFileSync("sh", ["-c", `printf '%s\\0' ${shellLine(EVIL)}`]).toString();
  expect(printed.split("\0").slice(0, -1)).toEqual(EVIL);
});

test("curl gets the body and the address as one word each", () => {
  const path = pathTo("jobs", "it's", "snapshots");
  const line = curlLine({ cli: [], method: "POST", path, body: { name: "it's $HOME" } }, "http://127.0.0.1:8701");
  const shown = execFileSync("sh", ["-c", `curl() { printf '%s\\0' "$@"; }; ${line}`], { env: { PITSTOP_TOKEN: "t" } });
  expect(shown.toString().split("\0").slice(0, -1)).toEqual([
    "--fail-with-body",
    "-X",
    "POST",
    "-H",
    "Authorization: Bearer t",
    "-H",
    "Content-Type: application/json",
    "-d",
    '{"name":"it\'s $HOME"}',
    "http://127.0.0.1:8701/api/v1/jobs/it's/snapshots",
  ]);
});

test("names stay within their part of a path", () => {
  expect(pathTo("maps", "../jobs?x#y")).toBe("/api/v1/maps/..%2Fjobs%3Fx%23y");
});
