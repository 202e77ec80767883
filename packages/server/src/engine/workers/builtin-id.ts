import type { Incarnation, WorkerId } from "../../domain/ids.ts";

const BUILTIN = "builtin-";

/** A worker inside a server process is named after it, and never outlives it. @param turn number of the worker in its server, from 0 */
export function builtinWorkerId(incarnation: Incarnation, turn = 0): WorkerId {
  return turn === 0 ? BUILTIN + incarnation : `${BUILTIN}${incarnation}-${turn}`;
}

export function isBuiltin(workerId: WorkerId): boolean {
  return workerId.startsWith(BUILTIN);
}

/** Whether it is a worker of that server. */
export function builtinOf(server: Incarnation, workerId: WorkerId): boolean {
  return workerId.startsWith(BUILTIN + server);
}
