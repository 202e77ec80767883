import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Runtime } from "../../ports/runtime.ts";
import type { Endpoint } from "./endpoint.ts";
import { spawnAs } from "./identity.ts";
import { type Installation, spawnOptions } from "./installation.ts";
import { openServerLog, type ServerLog } from "./server-log.ts";
import { serverArguments } from "./settings.ts";
import { signal } from "./signal.ts";
import { pause } from "./waiting.ts";
import { watchOver } from "./watchdog.ts";

/** Log of the supervisor. PostgreSQL itself writes to a file in the data folder. */
export type Log = Pick<Logger, "info" | "warn" | "error">;

/** Parts that starting PostgreSQL on one data folder needs. */
export interface Serving {
  readonly installation: Installation;
  readonly endpoint: Endpoint;
  readonly runtime: Runtime;
  readonly log: Log;
}

/** One run of PostgreSQL. */
export interface Postmaster {
  readonly pid: number;
  /** Resolves when PostgreSQL has ended, with the reason: its exit code or signal, and the last lines of its log. */
  readonly ended: Promise<string>;
  /** Resolves with true when PostgreSQL accepts connections, with false if it ended before. */
  readonly ready: Promise<boolean>;
  /** Stops PostgreSQL: first gently with a checkpoint, then hard, then by force. Resolves when it has ended. */
  stop(): Promise<void>;
}

const POLL_MS = 10;
const REPORT_MS = 5_000;
const FAST_STOP_MS = 10_000;
const HARD_STOP_MS = 6_000;

/** Starts PostgreSQL. Call `stopLeftovers` before. */
export function startPostmaster(serving: Serving): Postmaster {
  const { installation, endpoint, runtime } = serving;
  const serverLog = openServerLog(installation.home);
  const args = serverArguments(installation.pgdata, endpoint.port, endpoint.settings);
  const child = spawnAs(installation.identity, installation.binaries.postgres, args, {
    ...spawnOptions(installation),
    stdio: ["ignore", serverLog.output, serverLog.output],
    // A Ctrl-C at the terminal is for the server only, which then stops PostgreSQL last.
    detached: true,
  });
  const pid = child.pid ?? 0;
  const watchdog = pid > 0 ? watchOver(pid) : null;
  let isOver = false;
  const ended = endOf(child, serverLog).finally(() => {
    isOver = true;
    watchdog?.dismiss();
    serverLog.close();
  });
  return {
    pid,
    ended,
    ready: untilReady(serving, pid, () => isOver),
    async stop() {
      for (const [name, waitMs] of [
        ["INT", FAST_STOP_MS],
        ["QUIT", HARD_STOP_MS],
        ["KILL", null],
      ] as const) {
        if (isOver || pid === 0) break;
        await signal(pid, name, installation);
        await (waitMs === null ? ended : Promise.race([ended, pause(runtime, waitMs)]));
      }
    },
  };
}

function endOf(child: ChildProcess, serverLog: ServerLog): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signalName) => {
      const how = signalName === null ? `it ended with code ${code}` : `it was ended by ${signalName}`;
      const tail = serverLog.tail();
      resolve(tail === "" ? how : `${how}; its log ends with: ${tail}`);
    });
  });
}

/**
 * Waits until PostgreSQL accepts connections. Replaying the log after a crash may take long, so there is no limit while
 * PostgreSQL runs.
 */
async function untilReady(serving: Serving, pid: number, isOver: () => boolean): Promise<boolean> {
  const { installation, runtime, log } = serving;
  let reportMs = runtime.monotonicMs() + REPORT_MS;
  while (!isOver()) {
    if (await saysReady(installation.pgdata, pid)) return true;
    await pause(runtime, POLL_MS);
    if (runtime.monotonicMs() < reportMs) continue;
    reportMs += REPORT_MS;
    log.info("PostgreSQL is still starting: it replays its log after a crash");
  }
  return false;
}

/** Whether `postmaster.pid` reports that PostgreSQL is ready, in its eighth line. */
async function saysReady(pgdata: string, pid: number): Promise<boolean> {
  const lines = (await readFile(join(pgdata, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
  return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
}
