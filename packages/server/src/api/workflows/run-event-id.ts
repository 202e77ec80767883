import { RUN_MODES } from "@mainspring/contract/enums";
import { EXECUTION_STATES, type ExecutionState } from "../../domain/execution.ts";
import type { EpochMs } from "../../domain/ids.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { ShownMode } from "./run-picture.ts";

/** Progress of a client that follows a run. */
export interface RunCursor {
  /** State and mode of the run as last told, and whether it was paused; null: nothing was told. */
  state: ExecutionState | null;
  mode: ShownMode;
  paused: boolean;
  /** Time of the latest change of a node such that the client has seen all changes until then; 0: none. */
  at: EpochMs;
}

const BEGINNING: RunCursor = { state: null, mode: "RUNNING", paused: false, at: 0 };
/** Text of the state before the run was told. */
const NOT_TOLD = "NONE";
const ID = /^([A-Z]+)\.([A-Z]+)(-PAUSED)?\.(\d{1,15})$/;

export function encodeRunEventId({ state, mode, paused, at }: RunCursor): string {
  return `${state ?? NOT_TOLD}.${mode}${paused ? "-PAUSED" : ""}.${Math.floor(at)}`;
}

/** @throws {ProblemError} invalid-cursor */
export function decodeRunEventId(id: string | undefined): RunCursor {
  if (id === undefined || id === "") return BEGINNING;
  const [, stateName, modeName, paused, at] = ID.exec(id) ?? [];
  const state = stateName === NOT_TOLD ? null : EXECUTION_STATES.find((name) => name === stateName);
  const mode = RUN_MODES.find((name) => name === modeName);
  if (state !== undefined && mode !== undefined) {
    return { state, mode, paused: paused !== undefined, at: Number(at) };
  }
  throw new ProblemError(
    problem("invalid-cursor", "Last-Event-ID must be the id of an event of this workflow's stream"),
  );
}
