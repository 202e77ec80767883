import { SHARD_COUNT } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";

/** A store that takes longer is one that work should not be sent to. */
const STORE_TIMEOUT_MS = 2_000;

export interface Readiness {
  status: "ready" | "unready";
  checks: { name: string; ok: boolean; detail: string }[];
}

/**
 * Whether work should be sent here: the store answers, every shard has an owner, and the other nodes know of this one.
 * Never throws.
 */
export async function readiness(
  store: Pick<Store, "clock">,
  bus: Bus,
  runtime: Runtime,
  isMember: () => boolean = () => true,
): Promise<Readiness> {
  const checks = [await checkStore(store, runtime), checkShards(bus), checkMembership(isMember())];
  return { status: checks.every(({ ok }) => ok) ? "ready" : "unready", checks };
}

async function checkStore(store: Pick<Store, "clock">, runtime: Runtime) {
  const name = "store";
  let expire = () => {};
  const expired = new Promise<string>((resolve) => {
    expire = () => resolve(`the store did not answer within ${STORE_TIMEOUT_MS} ms`);
  });
  const timer = runtime.setTimer(STORE_TIMEOUT_MS, expire);
  // What exactly went wrong is for the log: this answer is public.
  const answered = store.clock().then(
    () => "",
    () => "the store cannot be reached",
  );
  const detail = await Promise.race([answered, expired]);
  timer.cancel();
  return { name, ok: detail === "", detail };
}

function checkShards(bus: Bus) {
  const orphans = Array.from({ length: SHARD_COUNT }, (_, shard) => bus.ownerOf(shard)).filter(
    (owner) => owner === null,
  );
  const detail = orphans.length === 0 ? "" : `${orphans.length} of ${SHARD_COUNT} shards have no owner`;
  return { name: "shards", ok: detail === "", detail };
}

function checkMembership(ok: boolean) {
  return { name: "lease", ok, detail: ok ? "" : "this node's lease has run out: it owns nothing" };
}
