/** Statements that are being carried out, and what they have given so far. */
import { ProblemError, streamed, UNREACHABLE } from "../../api/client";
import { pathTo } from "../../logic/commands";
import { type Answer, Answers } from "./answers";
import { linesOf } from "./lines";

export type Phase = "idle" | "running" | "done" | "failed" | "stopped";
export type Seen = {
  phase: Phase;
  /** Number of the run: each is another one. */
  run: number;
  /** The statements, and how far from the beginning of the editor's text they stood. */
  text: string;
  from: number;
  answers: Answer[];
  /** Statements whose answers are not shown any more. */
  hidden: number;
  error: ProblemError | null;
  /** When it began, and how long it took, in milliseconds. */
  began: number;
  took: number | null;
};

const TELL_MS = 200;
const NOTHING: Seen = {
  phase: "idle",
  run: 0,
  text: "",
  from: 0,
  answers: [],
  hidden: 0,
  error: null,
  began: 0,
  took: null,
};

/** One text of statements at a time. Who watches is told a few times a second, however fast rows come. */
export class Query {
  private seen = NOTHING;
  private leaving: AbortController | null = null;
  private readonly watchers = new Set<() => void>();

  /** `open` asks the server; it is given what ends that. */
  constructor(
    private readonly open: (statements: string, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>> = ask,
    private readonly now: () => number = () => performance.now(),
  ) {}

  subscribe = (watcher: () => void) => {
    this.watchers.add(watcher);
    return () => {
      this.watchers.delete(watcher);
    };
  };

  snapshot = () => this.seen;

  /** Carry statements out; what is running is stopped before. Returns once they have ended, one way or the other. */
  async run(text: string, from: number): Promise<Seen> {
    this.stop();
    const leaving = new AbortController();
    this.leaving = leaving;
    const began = this.now();
    const run = this.seen.run + 1;
    const answers = new Answers();
    const tell = (phase: Phase, error: ProblemError | null = null) => {
      const over = phase !== "running";
      const took = over ? this.now() - began : null;
      const { hidden } = answers;
      const next: Seen = { phase, run, text, from, answers: answers.snapshot(), hidden, error, began, took };
      // What was stopped, or has given way to other statements, has nothing more to say.
      if (this.seen.run <= run) this.become(next);
      return next;
    };
    tell("running");
    try {
      let told = this.now();
      for await (const line of linesOf(await this.open(text, leaving.signal))) {
        if (leaving.signal.aborted) return tell("stopped");
        answers.take(line);
        if (this.now() - told < TELL_MS) continue;
        tell("running");
        // Lines may come without a pause: the page is to be drawn, and Stop to be heard.
        await new Promise((done) => setTimeout(done));
        told = this.now();
      }
    } catch (error) {
      if (leaving.signal.aborted) return tell("stopped");
      return tell("failed", problem(error));
    } finally {
      if (this.leaving === leaving) this.leaving = null;
    }
    if (answers.fault) return tell("failed", new ProblemError(200, answers.fault.code, answers.fault.message));
    return tell(leaving.signal.aborted ? "stopped" : "done");
  }

  /** Let go of what runs: the server ends it. */
  stop = () => this.leaving?.abort();

  private become(next: Seen) {
    this.seen = next;
    for (const watcher of this.watchers) watcher();
  }
}

function ask(statements: string, signal: AbortSignal) {
  return streamed(pathTo("sql"), { statements }, signal);
}

function problem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  return new ProblemError(
    0,
    UNREACHABLE,
    "The answer broke off: the server or the network went away. What was asked for may still be done.",
  );
}
