import type { AbortCause, TaskContext } from "./context.ts";
import type { Ending } from "./work.ts";

/** Facts about a handler's attempt that do not change. */
export type AttemptFacts = Omit<TaskContext, "signal" | "sleep" | "progress" | "log">;

/** To the process or thread of an isolated handler. */
export type ToIsolated =
  | { kind: "RUN"; module: string; exportName: string; payload: unknown; facts: AttemptFacts }
  | { kind: "ABORT"; cause: AbortCause };

/** From it. */
export type FromIsolated =
  | { kind: "PROGRESS"; fraction: number; message: string | undefined }
  | { kind: "LOG"; line: string }
  | { kind: "ENDED"; ending: Ending };

/** The handler lives where these come from, and may send what it likes. */
export function isFromIsolated(message: unknown): message is FromIsolated {
  const { kind, fraction, line, ending } = Object(message) as Record<string, unknown>;
  if (kind === "PROGRESS") return typeof fraction === "number";
  if (kind === "LOG") return typeof line === "string";
  return kind === "ENDED" && typeof ending === "object" && ending !== null;
}
