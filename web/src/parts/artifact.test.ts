import { expect, test } from "vitest";
import {
  type Artifact,
  artifactCurl,
  artifactFile,
  artifactRequest,
  artifactWords,
  fileRefusal,
  NO_ARTIFACT,
  type StoredArtifact,
  stemOf,
  usesSentence,
} from "./artifact";

const PLACED: Artifact = {
  ...NO_ARTIFACT,
  from: "place",
  place: " /jobs/ingest_v2.py ",
  entry: " m:f ",
  args: "a b\n\n--x\n",
};

test("a place on the server is sent with entry and arguments", () => {
  expect(artifactRequest(PLACED)).toEqual({ artifact: "/jobs/ingest_v2.py", entry: "m:f", args: ["a b", "--x"] });
  expect(artifactFile(PLACED)).toBeNull();
});

test("nothing chosen is nothing to send", () => {
  expect(artifactRequest(NO_ARTIFACT)).toBeNull();
  expect(artifactRequest({ ...PLACED, from: "stored" })).toBeNull();
  expect(artifactRequest({ ...PLACED, place: "  " })).toBeNull();
});

test("a file is sent under its name, and stays behind when another way is chosen", () => {
  const file = new File(["x"], "job.py");
  expect(artifactRequest({ ...NO_ARTIFACT, file })).toEqual({ artifact: "job.py", entry: null, args: [] });
  expect(artifactFile({ ...NO_ARTIFACT, file })).toBe(file);
  expect(artifactFile({ ...PLACED, file })).toBeNull();
});

test("a job is called as its file", () => {
  expect(stemOf(PLACED)).toBe("ingest_v2");
  expect(stemOf({ ...NO_ARTIFACT, from: "place", place: "https://h/x/fleet-1.0.whl" })).toBe("fleet-1.0");
  expect(stemOf(NO_ARTIFACT)).toBe("");
});

test("only code is taken", () => {
  for (const name of ["job.py", "fleet.sql", "job.zip", "fleet-1.0-py3-none-any.whl"]) {
    expect(fileRefusal({ name, size: 1 })).toBeNull();
  }
  expect(fileRefusal({ name: "data.csv", size: 1 })).toBe(
    "'data.csv' is no artifact: a job is a .py, .sql, .zip, .whl file.",
  );
  expect(fileRefusal({ name: "job.zip", size: 256 * 1024 * 1024 + 1 })).toContain("larger than 256 MiB");
});

test("words of the command line", () => {
  expect(artifactWords(PLACED)).toEqual({ options: ["-c", "m:f"], last: ["/jobs/ingest_v2.py", "a b", "--x"] });
  expect(artifactWords(NO_ARTIFACT)).toEqual({ options: [], last: ["ARTIFACT"] });
});

test("who uses a stored artifact", () => {
  const use = (version: number, current: boolean) => ({ job: "1-2", name: "fleet", version, current });
  const stored: StoredArtifact = { name: "a.py", sha256: "0", bytes: 1, stored: "", path: "/a.py", used_by: [] };
  expect(usesSentence(stored)).toBe("used by no job");
  expect(usesSentence({ ...stored, used_by: [use(3, true), use(2, false), use(1, false)] })).toBe(
    "used by fleet version 3, fleet version 2 (before) and 1 more",
  );
});

test("curl sends a file beside its request, and a place as JSON alone", () => {
  const command = { cli: [], method: "POST" as const, path: "/api/v1/check", body: { artifact: "job.py" } };
  const dropped = artifactCurl({ ...NO_ARTIFACT, file: new File(["x"], "job.py") }, command, "http://h");
  expect(dropped).toBe(
    'curl --fail-with-body -H "Authorization: Bearer $PITSTOP_TOKEN" ' +
      `--form-string 'request={"artifact":"job.py"}' -F 'artifact=@"job.py"' http://h/api/v1/check`,
  );
  expect(artifactCurl(PLACED, command, "http://h")).toContain("-X POST");
});

test("curl finds a file whose name has quotes and backslashes in it", () => {
  const command = { cli: [], method: "POST" as const, path: "/api/v1/check", body: {} };
  const line = artifactCurl({ ...NO_ARTIFACT, file: new File(["x"], 'a"b\\c.py') }, command, "http://h");
  expect(line).toContain(`-F 'artifact=@"a\\"b\\\\c.py"'`);
});
