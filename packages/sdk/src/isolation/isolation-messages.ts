import { isBranchName } from "../handlers/branch.ts";
import type { AttemptAborted, TaskContext } from "../handlers/context.ts";
import { areReports } from "../handlers/spawn.ts";
import type { Ending, SpawnedNodeReport } from "../session/work.ts";

/** Data about a handler's attempt that does not change. */
export type AttemptFacts = Omit<
  TaskContext,
  "signal" | "sleep" | "progress" | "log" | "branch" | "spawn" | "step" | "checkpoint"
>;

/** Messages about steps and checkpoints from an isolated handler; `call` tells the calls of an attempt apart. */
export type StepMessage =
  | { kind: "STEP"; call: number; name: string }
  /** The answer to RUN_STEP: the result as JSON text. */
  | { kind: "STEP_RAN"; call: number; data: string }
  | { kind: "STEP_THREW"; call: number }
  | { kind: "SLEEP"; call: number; name: string; delayMs: number }
  | { kind: "WAIT_FOR_SIGNAL"; call: number; name: string; signals: readonly string[]; timeoutMs: number }
  /** The handler has gone on after the end of this call: all that it then called is on its way. */
  | { kind: "WENT_ON"; call: number }
  | { kind: "CHECKPOINT"; call: number; data: string };

/** The worker's answers to them. */
export type StepAnswer =
  /** No attempt has recorded the step: the handler's process runs its function. */
  | { kind: "RUN_STEP"; call: number }
  | { kind: "CALL_DONE"; call: number; value: unknown }
  | { kind: "CALL_FAILED"; call: number; ending: Ending; cause: AttemptAborted["reason"] | null };

/** Messages to the process or thread of an isolated handler. */
export type ToIsolated =
  | {
      kind: "RUN";
      module: string;
      exportName: string;
      payload: unknown;
      facts: AttemptFacts;
      /** Newest checkpoint of earlier attempts; absent: none. */
      lastCheckpoint?: unknown;
    }
  | { kind: "ABORT"; cause: AttemptAborted["reason"] }
  | StepAnswer;

/** Messages from the process or thread of an isolated handler. */
export type FromIsolated =
  | { kind: "PROGRESS"; fraction: number; message: string | undefined }
  | { kind: "LOG"; line: string }
  | { kind: "BRANCH"; name: string }
  | { kind: "SPAWN"; nodes: readonly SpawnedNodeReport[] }
  | { kind: "ENDED"; ending: Ending }
  | StepMessage;

/** Types of the fields of each kind of message about steps. */
const FIELDS: Readonly<Record<StepMessage["kind"], Readonly<Record<string, "number" | "string" | "object">>>> = {
  STEP: { call: "number", name: "string" },
  STEP_RAN: { call: "number", data: "string" },
  STEP_THREW: { call: "number" },
  SLEEP: { call: "number", name: "string", delayMs: "number" },
  WAIT_FOR_SIGNAL: { call: "number", name: "string", signals: "object", timeoutMs: "number" },
  WENT_ON: { call: "number" },
  CHECKPOINT: { call: "number", data: "string" },
};

/** Checks a message. The handler's own code runs in the process that sends these messages, and can send anything. */
export function isFromIsolated(message: unknown): message is FromIsolated {
  const fields = Object(message) as Record<string, unknown>;
  const { kind, fraction, line, name, ending } = fields;
  if (kind === "PROGRESS") return typeof fraction === "number";
  if (kind === "LOG") return typeof line === "string";
  if (kind === "BRANCH") return isBranchName(name);
  if (kind === "SPAWN") return areReports(fields["nodes"]);
  if (kind === "ENDED") return typeof ending === "object" && ending !== null;
  if (!Object.hasOwn(FIELDS, String(kind))) return false;
  return Object.entries(FIELDS[kind as StepMessage["kind"]]).every(([field, type]) => typeof fields[field] === type);
}
