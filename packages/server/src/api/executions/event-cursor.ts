import { EXECUTION_STATES, type ExecutionState } from "../../domain/execution.ts";
import { ProblemError, problem } from "../http/errors.ts";

/** Progress of a client: the last state and the last handler output that it has seen. */
export interface EventCursor {
  state: ExecutionState | null;
  attempt: number;
  /** Number of the last handler output; 0: none. */
  seq: number;
}

const BEGINNING: EventCursor = { state: null, attempt: 0, seq: 0 };

const ID = /^([A-Z]+)\.(\d{1,10})\.(\d{1,15})$/;

export function encodeEventId({ state, attempt, seq }: EventCursor): string {
  return `${state}.${attempt}.${seq}`;
}

/** @throws {ProblemError} invalid-cursor */
export function decodeEventId(id: string | undefined): EventCursor {
  if (id === undefined || id === "") return BEGINNING;
  const [, state, attempt, seq] = ID.exec(id) ?? [];
  const known = EXECUTION_STATES.find((name) => name === state);
  if (known !== undefined) return { state: known, attempt: Number(attempt), seq: Number(seq) };
  throw new ProblemError(
    problem("invalid-cursor", "Last-Event-ID must be the id of an event of this execution's stream"),
  );
}
