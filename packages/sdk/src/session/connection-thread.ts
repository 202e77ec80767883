import { parentPort, workerData } from "node:worker_threads";
import { StallGuard } from "../handlers/stall-guard.ts";
import { StartBoard } from "../handlers/start-board.ts";
import { systemRuntime } from "../system-runtime.ts";
import { packAssigns, unpackFinished } from "./columns.ts";
import { grpcLink } from "./grpc-link.ts";
import { LoopLag } from "./loop-lag.ts";
import { Session } from "./session.ts";
import type { FromThread, ThreadSettings, ToThread } from "./thread-messages.ts";

/** Interval at which the thread checks whether handlers block the event loop, in milliseconds. */
const LOOK_EVERY_MS = 250;
/** Delay of the event loop, in milliseconds, above which it counts as blocked and not just busy. */
const LATE_MS = 500;

/**
 * Main function of the thread with a worker's connection, which sends heartbeats even while handlers block the main
 * event loop. The thread ends with the session and with the process.
 */
function main(port: NonNullable<typeof parentPort>, settings: ThreadSettings): void {
  const runtime = systemRuntime(true);
  const tell = (message: FromThread) => port.postMessage(message);
  const lag = new LoopLag(runtime, () => tell({ kind: "PING" }));
  const keys = {
    apiKey: settings.apiKey,
    refused: (apiKey: string | null) => tell({ kind: "KEY_REFUSED", apiKey }),
  };
  const link = grpcLink(settings, keys, runtime);
  const guard = new StallGuard(settings.cells, runtime);
  const session = new Session(settings.profile, link, runtime, guard, {
    loopLagMs: () => lag.lagMs,
    orders: ({ assigns, ...rest }) => tell({ kind: "ORDERS", assigns: packAssigns(assigns), rest }),
    welcomed: (tooOld) => tell({ kind: "WELCOMED", tooOld }),
    warn: (message) => tell({ kind: "WARN", message }),
    left: (error) => {
      lag.stop();
      looking.cancel();
      tell({ kind: "LEFT", error: error && { code: error.code, message: error.message } });
      // From here on, only the goodbye to the server keeps the thread alive.
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
      case "KEY":
        keys.apiKey = message.apiKey;
        return;
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
