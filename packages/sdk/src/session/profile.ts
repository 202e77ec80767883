import { workerIdOf } from "@mainspring/proto";
import { MainspringError } from "../errors.ts";
import type { Runtime } from "../runtime.ts";

/** Identity and settings of a worker. */
export interface WorkerProfile {
  /** Id of one life of one worker, kept over reconnects. */
  workerId: string;
  /**
   * Secret from which the id was derived, see `workerIdOf`; absent: another program that uses this id takes the
   * worker's place.
   */
  secret?: string;
  /** Name of the worker, for people; 1 to 128 characters. */
  name: string;
  pool: string;
  handlers: readonly string[];
  /** JSON texts of what the tasks of handlers declare for their jobs; left out: nothing. */
  policies?: readonly { handler: string; policies: string }[];
  capabilities: readonly string[];
  /** Number of attempts that the worker runs at once; 1 to 10_000. */
  slots: number;
  /** Number of further attempts that may wait at the worker; 0 to 100_000, or `auto`: the server measures it. */
  prefetch: number | "auto";
}

/** Creates a new worker's id, and the secret that proves to every gateway that the id belongs to this worker. */
export function newIdentity(runtime: Runtime): Required<Pick<WorkerProfile, "workerId" | "secret">> {
  const secret = `${runtime.uuid()}${runtime.uuid()}`;
  const workerId = workerIdOf(secret);
  if (workerId === null) throw new RangeError("ids of the runtime make no secret of 16 to 128 characters");
  return { workerId, secret };
}

/** @throws {MainspringError} BAD_OPTION with a message that says which values are allowed */
export function checkedProfile(profile: WorkerProfile): WorkerProfile {
  const { name, pool, handlers, capabilities, slots, prefetch } = profile;
  demand(name.length >= 1 && name.length <= 128, `name: 1 to 128 characters are allowed, it has ${name.length}`);
  demand(pool !== "", "pool: must not be empty");
  demand(isWithin(slots, 1, 10_000), `slots: must be a whole number from 1 to 10000, not ${slots}`);
  const isPrefetch = prefetch === "auto" || isWithin(prefetch, 0, 100_000);
  demand(isPrefetch, `prefetch: must be "auto" or a whole number from 0 to 100000, not ${JSON.stringify(prefetch)}`);
  demand(handlers.length > 0, "tasks: a worker needs at least one task");
  const repeated = handlers.find((handler, index) => handlers.indexOf(handler) !== index);
  demand(repeated === undefined, `tasks: two of them are named "${repeated}"`);
  demand(!handlers.includes("") && !capabilities.includes(""), "names of tasks and capabilities must not be empty");
  return profile;
}

function isWithin(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

function demand(condition: boolean, message: string): void {
  if (!condition) throw new MainspringError("BAD_OPTION", message);
}
