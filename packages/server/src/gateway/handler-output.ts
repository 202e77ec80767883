import { WORD_CHARS_MAX } from "@mainspring/contract/limits";
import type { WorkerMessage } from "@mainspring/proto";
import type { Logger } from "pino";
import type { EpochMs, WorkerId } from "../domain/ids.ts";
import { cleanText } from "../ports/clean-text.ts";
import type { LogLine, Progress } from "../ports/messages.ts";
import { LOG_LINE_MAX_CHARS } from "./limits.ts";
import { tokenOf } from "./translate.ts";

/** Output of a handler without its number, which the output relay assigns. */
export type UnnumberedOutput = Omit<Progress, "seq"> | Omit<LogLine, "seq">;

/**
 * Checks and cuts the output in a worker's message. The times are the gateway's, because workers' clocks may differ.
 * @param tenant owner of the worker's pool; null: nobody
 */
export function handlerOutputOf(
  { progress, logs }: WorkerMessage,
  at: EpochMs,
  tenant: string | null,
): UnnumberedOutput[] {
  const of = tenant === null ? { at } : { at, tenant };
  const items: UnnumberedOutput[] = [];
  for (const { token, level, line } of logs) {
    const known = tokenOf(token);
    if (known === null) continue;
    const { executionId, attempt } = known;
    const text = { level: cleanText(level, WORD_CHARS_MAX), line: cleanText(line, LOG_LINE_MAX_CHARS) };
    items.push({ kind: "LOG", executionId, attempt, ...of, ...text });
  }
  for (const { token, fraction, message } of progress) {
    const known = tokenOf(token);
    if (known === null) continue;
    const { executionId, attempt } = known;
    const bounded = Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0));
    const text = cleanText(message, LOG_LINE_MAX_CHARS);
    items.push({ kind: "PROGRESS", executionId, attempt, ...of, fraction: bounded, message: text });
  }
  return items;
}

/** Writes handler output to the server's log, at level debug. */
export function logHandlerOutput(log: Logger, workerId: WorkerId, items: readonly UnnumberedOutput[]): void {
  if (!log.isLevelEnabled("debug")) return;
  for (const item of items) {
    const { executionId, attempt } = item;
    const from = { workerId, executionId, attempt };
    if (item.kind === "LOG") log.debug({ ...from, handlerLevel: item.level }, item.line);
    else log.debug({ ...from, fraction: item.fraction }, `progress ${item.message}`);
  }
}
