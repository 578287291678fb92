import { expect, test } from "vitest";
import { NO_ARTIFACT } from "../../parts/artifact";
import { EMPTY_DRAFT } from "../../parts/version/draft";
import { nameHolder, type Submission, submitBody, submitCommand } from "./request";

const ASKED: Submission = {
  draft: {
    artifact: { ...NO_ARTIFACT, from: "place", place: "/jobs/speeds.py", args: "--fast" },
    options: [{ id: 1, name: "partitions", value: "2" }],
    renamed: {},
  },
  name: " fast ",
  snapshot: "monday",
};

test("the request", () => {
  expect(submitBody(ASKED)).toEqual({
    artifact: "/jobs/speeds.py",
    entry: null,
    args: ["--fast"],
    name: "fast",
    initial_snapshot: "monday",
    options: { partitions: "2" },
  });
  expect(submitBody({ ...ASKED, name: " ", snapshot: null })).toEqual({
    artifact: "/jobs/speeds.py",
    entry: null,
    args: ["--fast"],
    options: { partitions: "2" },
  });
});

test("options stand before the artifact", () => {
  expect(submitCommand(ASKED).cli.join(" ")).toBe(
    "pitstop submit -s monday -n fast -O partitions=2 /jobs/speeds.py --fast",
  );
  expect(submitCommand({ draft: EMPTY_DRAFT, name: "", snapshot: null }).cli.join(" ")).toBe("pitstop submit ARTIFACT");
});

test("a name is taken as long as its job has not ended", () => {
  const job = (name: string, status: string) => ({ name, status });
  expect(nameHolder(ASKED, [job("fast", "FAILED"), job("slow", "RUNNING")])).toBeNull();
  expect(nameHolder(ASKED, [job("fast", "SUSPENDED")])).toEqual(job("fast", "SUSPENDED"));
  expect(nameHolder({ ...ASKED, name: "" }, [job("speeds", "RUNNING")])).toEqual(job("speeds", "RUNNING"));
});
