import type { Client } from "@mainspring/sdk";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";

/** Largest number of pools that a refusal lists. */
const SHOWN_MAX = 10;

/**
 * Refuses an unknown pool, because its name is probably a typing error and pausing it would have no effect.
 * @throws {Failure}
 */
export async function demandKnownPool(client: Client, name: string): Promise<void> {
  const known: string[] = [];
  for await (const pool of client.pools.list()) known.push(pool.name);
  if (known.includes(name)) return;
  // A pool without workers can still be known by its jobs.
  for await (const _ of client.listJobs({ pool: name, limit: 1 })) return;
  const shown = known.slice(0, SHOWN_MAX).join(", ") + (known.length > SHOWN_MAX ? ", …" : "");
  const others = known.length === 0 ? "no pool has workers or settings" : `there are ${shown}`;
  const why = `no pool is called ${JSON.stringify(name)}: it has no workers, no jobs and no settings (${others})`;
  throw new Failure(`${why}. --force pauses it all the same`, EXIT.failed);
}
