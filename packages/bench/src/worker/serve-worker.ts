import { Tally } from "./tally.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

/** Functions of a contender's worker process. */
export interface WorkerSide {
  /** Starts taking work. */
  start(): Promise<void>;
  /** Takes no more work, finishes what it has, and reports that to the store. May be started again. */
  stop(): Promise<void>;
  /** Data for the process that started this one. */
  readonly about?: Record<string, string>;
}

/** Interval of progress reports, in milliseconds. */
const TELL_EVERY_MS = 10;

/**
 * Runs a worker process: opens the worker with the settings in its first argument (JSON), and follows the commands of
 * its parent.
 */
export async function serveWorker<S>(open: (settings: S, tally: Tally) => Promise<WorkerSide>): Promise<void> {
  const tally = new Tally();
  const side = await open(JSON.parse(process.argv[2] ?? "{}") as S, tally);
  let told = 0;
  setInterval(() => {
    if (tally.runs !== told) tell({ kind: "RUNS", runs: (told = tally.runs) });
  }, TELL_EVERY_MS);
  process.on("message", (message: ToWorker) => {
    void obey(side, tally, message).then(
      (report) => tell({ kind: "DONE", id: message.id, report }),
      (error: unknown) => tell({ kind: "FAILED", id: message.id, reason: String(error) }),
    );
  });
  process.once("disconnect", () => process.exit(0));
  tell({ kind: "READY", about: side.about ?? {} });
}

async function obey(side: WorkerSide, tally: Tally, message: ToWorker) {
  if (message.kind === "START") await side.start();
  else if (message.kind === "STOP") await side.stop();
  else if (message.kind === "EXPECT") tally.expect(message.jobs);
  else return tally.report();
  return null;
}

function tell(message: FromWorker): void {
  process.send?.(message);
}
