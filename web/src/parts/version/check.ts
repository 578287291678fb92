/** Checking a draft: the server compiles it, and tells what would become of saved state. */
import { useCallback, useEffect, useRef, useState } from "react";
import { type Report, upload } from "../../api/client";
import { type Command, operands } from "../../logic/commands";
import { artifactFile, artifactRequest } from "../artifact";
import { useAction } from "../useAction";
import { type Draft, draftOptions, draftWords } from "./draft";

export type Checked = {
  plan: Record<string, unknown>;
  report: Report | null;
  text: string;
  /** What is amiss now and hinders nothing, a sentence each. */
  warnings: string[];
  /** What each topic, table and bucket has now, or why nobody could look. */
  findings: string[];
};
export type Against = { job?: string; snapshot?: string };
export type CheckAsked = {
  draft: Draft;
  against: Against;
  /** Options of the version before, over which the draft's go. */
  before?: Record<string, unknown>;
};

/** Checks what is asked; what the last check has found stays until the next one has found something. */
export function useCheck() {
  const [found, setFound] = useState<{ asked: CheckAsked; checked: Checked } | null>(null);
  const ending = useRef<AbortController>(null);
  const check = useAction({
    mutationFn: (asked: CheckAsked) => {
      ending.current = new AbortController();
      const { signal } = ending.current;
      return upload<Checked>("/api/v1/check", checkBody(asked), artifactFile(asked.draft.artifact), signal);
    },
    onSuccess: (checked, asked) => setFound({ asked, checked }),
  });
  // The server ends what nobody waits for.
  const stop = useCallback(() => ending.current?.abort(), []);
  useEffect(() => stop, [stop]);
  const error = check.error?.name === "AbortError" ? null : check.error;
  return { run: check.mutate, stop, pending: check.isPending, error, found };
}

/** The request. */
export function checkBody({ draft, against, before = {} }: CheckAsked): object {
  return { ...artifactRequest(draft.artifact), ...against, options: { ...before, ...draftOptions(draft) } };
}

/** The same as a line for a terminal. */
export function checkCommand(asked: CheckAsked): Command {
  const { job, snapshot } = asked.against;
  const { options, last } = draftWords(asked.draft);
  const against = [...(job ? ["-j", job] : []), ...(snapshot ? ["-s", snapshot] : [])];
  return {
    cli: ["pitstop", "check", ...against, ...options, ...operands(...last)],
    method: "POST",
    path: "/api/v1/check",
    body: checkBody(asked),
  };
}
