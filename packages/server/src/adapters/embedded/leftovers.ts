import { realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { StoreUnusable } from "../../ports/store.ts";
import type { Installation } from "./installation.ts";
import type { Serving } from "./postmaster.ts";
import { type PostgresProcess, postgresOn, recordedPostmaster } from "./processes.ts";
import { signal } from "./signal.ts";
import { waitUntil } from "./waiting.ts";

/**
 * Time limit of a fast stop, in milliseconds. Finishing a checkpoint that is in progress is better than replaying the
 * log later.
 */
const FAST_STOP_MS = 3_000;
const HARD_STOP_MS = 1_000;
const KILL_MS = 2_000;
const POLL_MS = 10;

/**
 * Stops processes that a killed server left running on the data folder. They are never adopted, because their settings,
 * program and health are unknown. The caller holds the folder's lock, so no live server can be affected.
 * @returns whether there were any
 * @throws {StoreUnusable} a PostgreSQL that is not Mainspring's works on the folder, or a process cannot be ended
 */
export async function stopLeftovers(serving: Serving): Promise<boolean> {
  const { installation, endpoint, log } = serving;
  const found = await leftoversOf(installation);
  if (found.length > 0) {
    log.warn(
      { pids: found.map(({ pid }) => pid) },
      "the node stops the PostgreSQL that an earlier server left running",
    );
    await refuseForeign(serving);
    await end(serving);
  }
  // No process works on the folder. PostgreSQL itself would trust these files as long as any process has the pid in
  // them, even one that was not reaped yet; and in a container, the next start probably reuses the same pids.
  await Promise.all(
    [join(installation.pgdata, "postmaster.pid"), ...endpoint.lockFiles].map((file) => rm(file, { force: true })),
  );
  return found.length > 0;
}

function leftoversOf({ pgdata, binaries }: Installation): Promise<PostgresProcess[]> {
  return postgresOn(pgdata, binaries.postgres);
}

async function refuseForeign({ installation, runtime }: Serving): Promise<void> {
  const ours = await realpath(installation.binaries.postgres);
  let foreign: PostgresProcess | undefined;
  // A PostgreSQL of another Mainspring's binaries stops by itself once its server is dead.
  const isGone = await waitUntil(runtime, FAST_STOP_MS, POLL_MS, async () => {
    foreign = (await leftoversOf(installation)).find(({ executable }) => executable !== ours);
    return foreign === undefined;
  });
  if (isGone || foreign === undefined) return;
  throw new StoreUnusable(
    `A PostgreSQL that this Mainspring did not start (process ${foreign.pid}, ${foreign.executable}) works on ${installation.pgdata}. Stop it first, or choose another folder with MAINSPRING_DATA_DIR.`,
  );
}

async function end(serving: Serving): Promise<void> {
  const { installation } = serving;
  const steps = [
    { name: "INT", limitMs: FAST_STOP_MS },
    { name: "QUIT", limitMs: HARD_STOP_MS },
    { name: "KILL", limitMs: KILL_MS },
  ] as const;
  for (const { name, limitMs } of steps) {
    if (await stoppedBy(serving, name, limitMs)) return;
  }
  const left = (await leftoversOf(installation)).map(({ pid }) => pid).join(", ");
  throw new StoreUnusable(
    `A PostgreSQL that an earlier server left on ${installation.pgdata} does not end (process ${left}). End it, then start again.`,
  );
}

async function stoppedBy(serving: Serving, name: "INT" | "QUIT" | "KILL", limitMs: number): Promise<boolean> {
  const { installation, runtime } = serving;
  const found = await leftoversOf(installation);
  const recorded = await recordedPostmaster(installation.pgdata);
  const postmaster = found.find(({ pid }) => pid === recorded);
  if (postmaster !== undefined && name !== "KILL") await signal(postmaster.pid, name, installation);
  // Without their postmaster, the other processes only hold memory: what they wrote is in the log, or was never
  // acknowledged.
  else await Promise.all(found.map(({ pid }) => signal(pid, "KILL", installation)));
  return waitUntil(runtime, limitMs, POLL_MS, async () => (await leftoversOf(installation)).length === 0);
}
