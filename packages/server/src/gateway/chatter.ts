import type { WorkerMessage } from "@mainspring/proto";
import type { Logger } from "pino";
import type { WorkerId } from "../domain/ids.ts";
import { LOG_LINE_MAX_CHARS } from "./limits.ts";
import { cleanText } from "./translate.ts";

/** Progress and log lines of handlers go to the server's log, at level debug. */
export function logChatter(log: Logger, workerId: WorkerId, { progress, logs }: WorkerMessage): void {
  if (progress.length + logs.length === 0 || !log.isLevelEnabled("debug")) return;
  for (const { token, fraction, message } of progress) {
    const text = cleanText(message, LOG_LINE_MAX_CHARS);
    log.debug({ workerId, executionId: token?.executionId, attempt: token?.attempt, fraction }, `progress ${text}`);
  }
  for (const { token, level, line } of logs) {
    const text = cleanText(line, LOG_LINE_MAX_CHARS);
    log.debug({ workerId, executionId: token?.executionId, attempt: token?.attempt, handlerLevel: level }, text);
  }
}
