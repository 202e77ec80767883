import { Worker as Thread } from "node:worker_threads";
import type { ApiKeySource } from "../client/api-key.ts";
import { MainspringError } from "../errors.ts";
import { packFinished, unpackAssigns } from "./columns.ts";
import type { SessionControl, SessionEvents } from "./session.ts";
import type { FromThread, ThreadSettings, ToThread } from "./thread-messages.ts";
import { NO_ORDERS, type Report } from "./work.ts";

/** Settings of a session. The thread gets the key itself, because it cannot call a function of the program. */
export interface ThreadSessionSettings extends Omit<ThreadSettings, "apiKey"> {
  apiKey: ApiKeySource;
}

/** Main thread's view of a session that runs in a thread of its own. */
export class ThreadSession implements SessionControl {
  readonly #settings: ThreadSessionSettings;
  readonly #events: SessionEvents;
  #thread: Thread | null = null;
  #isLeaving = false;
  /** Reason for which the session left, null for a regular leave; undefined until then. */
  #end: MainspringError | null | undefined;

  constructor(settings: ThreadSessionSettings, events: SessionEvents) {
    this.#settings = settings;
    this.#events = events;
  }

  start(): void {
    const key = this.#settings.apiKey.current();
    if (!(key instanceof Promise)) return this.#begin(key);
    key.then(
      (apiKey) => this.#begin(apiKey),
      (error: MainspringError) => this.#events.left(error),
    );
  }

  #begin(apiKey: string | null): void {
    if (this.#isLeaving) return this.#events.left(null);
    // The source tree has the thread's file as TypeScript, the published package as JavaScript.
    const file = import.meta.url.endsWith(".ts") ? "./connection-thread.ts" : "./connection-thread.js";
    // The thread gets none of the program's flags: `--input-type` would keep the thread from starting, and preloads
    // would run twice.
    const options = { workerData: { ...this.#settings, apiKey }, name: "mainspring", execArgv: [] };
    this.#thread = new Thread(new URL(file, import.meta.url), options);
    this.#thread.on("message", (message: FromThread) => this.#receive(message));
    this.#thread.on("error", (cause) => {
      this.#end = new MainspringError("INTERNAL", `the connection's thread failed: ${cause.message}`, { cause });
    });
    // The session has left only when its thread is gone, because its goodbye may be on its way until then.
    this.#thread.on("exit", () => {
      // A session that leaves has said so. A session whose thread died has not, and the server no longer hears the
      // handlers.
      this.#events.orders({ ...NO_ORDERS, drain: true, abandon: true });
      this.#events.left(this.#end === undefined ? lost() : this.#end);
    });
  }

  report({ finished, ...rest }: Report): void {
    this.#tell({ kind: "REPORT", finished: packFinished(finished), rest });
  }

  drain(limitMs: number | null): void {
    this.#isLeaving = true;
    this.#tell({ kind: "DRAIN", limitMs });
  }

  #tell(message: ToThread): void {
    this.#thread?.postMessage(message);
  }

  /** Gives the thread another key, if there is one. Otherwise the session gives up in time. */
  async #readKeyAgain(refused: string | null): Promise<void> {
    const { apiKey } = this.#settings;
    try {
      if (await apiKey.refused(refused)) this.#tell({ kind: "KEY", apiKey: await apiKey.current() });
    } catch (error) {
      this.#events.warn(error instanceof Error ? error.message : String(error));
    }
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case "ORDERS":
        return this.#events.orders({ ...message.rest, assigns: unpackAssigns(message.assigns) });
      case "PING":
        return this.#tell({ kind: "PONG" });
      case "WELCOMED":
        return this.#events.welcomed(message.tooOld);
      case "LATE":
        return this.#events.late?.(message.forMs);
      case "KEY_REFUSED":
        return void this.#readKeyAgain(message.apiKey);
      case "WARN":
        return this.#events.warn(message.message);
      case "LEFT":
        this.#end = message.error && new MainspringError(message.error.code, message.error.message);
    }
  }
}

function lost(): MainspringError {
  return new MainspringError("INTERNAL", "the connection's thread ended unexpectedly");
}
