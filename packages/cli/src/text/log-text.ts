import type { AttemptLogs, LoggedLine } from "@mainspring/sdk";
import { counted } from "./counted.ts";
import { sentence } from "./output.ts";

/** A line that a handler logged, on one line of the screen. */
export function logLine({ at, level, line }: LoggedLine): string {
  return sentence`${at}  ${level.toLowerCase()}  ${line}`;
}

/** Text of what a handler logged in an attempt, for people. */
export function logsText({ attempt, url, lines, droppedLines }: AttemptLogs): string {
  if (url !== null) return sentence`the log of attempt ${attempt} is at ${url}`;
  const earlier = `${counted(droppedLines, "earlier line")} ${droppedLines === 1 ? "was" : "were"}`;
  const dropped = droppedLines === 0 ? [] : [sentence`(${earlier} not kept)`];
  const nothing = lines.length === 0 ? [sentence`attempt ${attempt} has logged nothing`] : [];
  return [...dropped, ...nothing, ...lines.map(logLine)].join("\n");
}
