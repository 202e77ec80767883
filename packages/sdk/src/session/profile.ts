import { workerIdOf } from "@mainspring/proto";
import { MainspringError } from "./errors.ts";
import type { Runtime } from "./runtime.ts";

/** Profile of a worker. */
export interface WorkerProfile {
  /** One life of one worker; kept over reconnects. */
  workerId: string;
  /**
   * Secret that the id was derived from, see `workerIdOf`; left out: another program that uses this id takes the
   * worker's place.
   */
  secret?: string;
  /** For people; 1 to 128 characters. */
  name: string;
  pool: string;
  handlers: readonly string[];
  capabilities: readonly string[];
  /** 1 to 10_000 */
  slots: number;
  /** 0 to 100_000 */
  prefetch: number;
}

/** A new worker's id, and the secret that shows every gateway that the id is its own. */
export function newIdentity(runtime: Runtime): Required<Pick<WorkerProfile, "workerId" | "secret">> {
  const secret = `${runtime.uuid()}${runtime.uuid()}`;
  const workerId = workerIdOf(secret);
  if (workerId === null) throw new RangeError("ids of the runtime make no secret of 16 to 128 characters");
  return { workerId, secret };
}

/** @throws {MainspringError} BAD_OPTION, with what would be right */
export function checkedProfile(profile: WorkerProfile): WorkerProfile {
  const { name, pool, handlers, capabilities, slots, prefetch } = profile;
  demand(name.length >= 1 && name.length <= 128, `name: 1 to 128 characters are allowed, it has ${name.length}`);
  demand(pool !== "", "pool: must not be empty");
  demand(isWithin(slots, 1, 10_000), `slots: must be a whole number from 1 to 10000, not ${slots}`);
  demand(isWithin(prefetch, 0, 100_000), `prefetch: must be a whole number from 0 to 100000, not ${prefetch}`);
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
