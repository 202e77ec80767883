import { Tally } from "./tally.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

/** Requests to a contender's worker process. */
export interface WorkerSide {
  /** Takes work. */
  start(): Promise<void>;
  /** Takes no more, finishes what it has and says so to the store. May be started again. */
  stop(): Promise<void>;
  /** Answers to the process that started this one. */
  readonly about?: Record<string, string>;
}

/** How often the process says how far it is. */
const TELL_EVERY_MS = 10;

/** A worker process: opens what its first argument, in JSON, tells of, and obeys the process that forked it. */
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
