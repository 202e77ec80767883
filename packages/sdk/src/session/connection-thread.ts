import { parentPort, workerData } from "node:worker_threads";
import { packAssigns, unpackFinished } from "./columns.ts";
import { grpcLink } from "./grpc-link.ts";
import { LoopLag } from "./loop-lag.ts";
import { Session } from "./session.ts";
import { StallGuard } from "./stall-guard.ts";
import { StartBoard } from "./start-board.ts";
import { systemRuntime } from "./system-runtime.ts";
import type { FromThread, ThreadSettings, ToThread } from "./thread-messages.ts";

/** Interval at which the thread looks for handlers that block the loop. */
const LOOK_EVERY_MS = 250;
/** A loop that is later than this was blocked, and not just busy. */
const LATE_MS = 500;

/**
 * The thread of a worker's connection: heartbeats go out whatever the handlers do to the main loop. It ends with the
 * session, and with the process.
 */
function main(port: NonNullable<typeof parentPort>, settings: ThreadSettings): void {
  const runtime = systemRuntime(true);
  const tell = (message: FromThread) => port.postMessage(message);
  const lag = new LoopLag(runtime, () => tell({ kind: "PING" }));
  const link = grpcLink(settings.targets, settings.apiKey, runtime);
  const guard = new StallGuard(settings.cells, runtime);
  const session = new Session(settings.profile, link, runtime, guard, {
    loopLagMs: () => lag.lagMs,
    orders: ({ assigns, ...rest }) => tell({ kind: "ORDERS", assigns: packAssigns(assigns), rest }),
    welcomed: () => tell({ kind: "WELCOMED" }),
    warn: (message) => tell({ kind: "WARN", message }),
    left: (error) => {
      lag.stop();
      looking.cancel();
      tell({ kind: "LEFT", error: error && { code: error.code, message: error.message } });
      // Nothing but the goodbye keeps the thread from here on.
      port.close();
    },
  });
  const starts = new StartBoard(settings.starts);
  const look = (): void => {
    looking = runtime.setTimer(LOOK_EVERY_MS, look);
    const started = starts.stale();
    if (started.length > 0) session.report({ started, finished: [], ended: [], progress: [], logs: [] });
  };
  let looking = runtime.setTimer(LOOK_EVERY_MS, look);
  port.on("message", (message: ToThread) => {
    switch (message.kind) {
      case "REPORT":
        return session.report({ ...message.rest, finished: unpackFinished(message.finished) });
      case "DRAIN":
        return session.drain(message.limitMs);
      case "PONG":
        lag.answered();
        if (lag.lagMs >= LATE_MS) tell({ kind: "LATE", forMs: lag.lagMs });
        return;
    }
  });
  lag.start();
  session.start();
}

if (parentPort !== null) main(parentPort, workerData as ThreadSettings);
