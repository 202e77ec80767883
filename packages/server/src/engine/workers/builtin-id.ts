import type { Incarnation, WorkerId } from "../../domain/ids.ts";

const BUILTIN = "builtin-";

/**
 * Id of a worker inside a server process. It is derived from the server's incarnation, because the worker never
 * outlives the server.
 * @param turn number of the worker in its server, from 0
 */
export function builtinWorkerId(incarnation: Incarnation, turn = 0): WorkerId {
  return turn === 0 ? BUILTIN + incarnation : `${BUILTIN}${incarnation}-${turn}`;
}

export function isBuiltin(workerId: WorkerId): boolean {
  return workerId.startsWith(BUILTIN);
}

/** Whether the id is that of a worker inside this server. */
export function builtinOf(server: Incarnation, workerId: WorkerId): boolean {
  return workerId.startsWith(BUILTIN + server);
}
