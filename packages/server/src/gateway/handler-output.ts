import type { WorkerMessage } from "@mainspring/proto";
import type { Logger } from "pino";
import type { EpochMs, WorkerId } from "../domain/ids.ts";
import type { LogLine, Progress } from "../ports/messages.ts";
import { LOG_LINE_MAX_CHARS, NAME_MAX_CHARS } from "./limits.ts";
import { cleanText, tokenOf } from "./translate.ts";

/** Output of a handler, before it has its number within the output of its execution. */
export type Heard = Omit<Progress, "seq"> | Omit<LogLine, "seq">;

/** Checked and cut. Times are the gateway's: workers' clocks may differ. */
export function chatterOf({ progress, logs }: WorkerMessage, at: EpochMs): Heard[] {
  const heard: Heard[] = [];
  for (const { token, level, line } of logs) {
    const known = tokenOf(token);
    if (known === null) continue;
    const { executionId, attempt } = known;
    const text = { level: cleanText(level, NAME_MAX_CHARS), line: cleanText(line, LOG_LINE_MAX_CHARS) };
    heard.push({ kind: "LOG", executionId, attempt, at, ...text });
  }
  for (const { token, fraction, message } of progress) {
    const known = tokenOf(token);
    if (known === null) continue;
    const { executionId, attempt } = known;
    const bounded = Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0));
    const text = cleanText(message, LOG_LINE_MAX_CHARS);
    heard.push({ kind: "PROGRESS", executionId, attempt, at, fraction: bounded, message: text });
  }
  return heard;
}

/** It goes to the server's log as well, at level debug. */
export function logChatter(log: Logger, workerId: WorkerId, heard: readonly Heard[]): void {
  if (!log.isLevelEnabled("debug")) return;
  for (const item of heard) {
    const { executionId, attempt } = item;
    const from = { workerId, executionId, attempt };
    if (item.kind === "LOG") log.debug({ ...from, handlerLevel: item.level }, item.line);
    else log.debug({ ...from, fraction: item.fraction }, `progress ${item.message}`);
  }
}
