import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";

/** Longest wait for the store in a health check, in milliseconds; a slower store counts as not ready. */
const STORE_TIMEOUT_MS = 2_000;

export interface Readiness {
  status: "ready" | "unready";
  checks: Check[];
}

interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

/** Store methods that the health check calls. */
export interface CheckedStore extends Pick<Store, "clock"> {
  /** Resolves if no write was refused, or if writes work again. */
  checkWrites(): Promise<void>;
}

/** State of a node, read for each answer. */
export interface Standing {
  /** Whether the node's lease is valid, so that the other nodes know the node. */
  isMember(): boolean;
  /** Whether the node is draining. */
  isDraining(): boolean;
  isStopping(): boolean;
  /** Whether the node is cut off from the owners of shards, and the number of these owners. */
  reach(): { isCutOff: boolean; owners: number };
  /** Replicas that follow a Redis that is the store, and those that must have each change; null: enough follow, or there is no such Redis. */
  missingReplicas(): { follow: number; required: number } | null;
  /** Number of shards placed on the node, and of those that it owned; null: its roles let it own none. */
  share(): { placed: number; had: number; isSettled: boolean } | null;
}

/**
 * Whether a load balancer should send work to this node. The answer depends on this node and its store alone, because a fault of
 * another node must not make the load balancer avoid all of them. So only shards that are placed on this node count,
 * and shards that were just placed here and are being taken over do not count. A rolling restart waits for this answer
 * before the next node. Never throws.
 */
export async function readiness(store: CheckedStore, runtime: Runtime, standing: Standing): Promise<Readiness> {
  const checks = [
    await checkStore(store, runtime),
    checkReplicas(standing.missingReplicas()),
    check("lease", standing.isMember(), "this node's lease has run out: it owns nothing"),
    checkShards(standing.share(), standing.isMember()),
    checkPeers(standing.reach()),
    check("draining", !standing.isDraining(), "this node gives its work to the others"),
    check("stopping", !standing.isStopping(), "this node is stopping"),
  ];
  return { status: checks.every(({ ok }) => ok) ? "ready" : "unready", checks };
}

function check(name: string, ok: boolean, otherwise: string): Check {
  return { name, ok, detail: ok ? "" : otherwise };
}

async function checkStore(store: CheckedStore, runtime: Runtime): Promise<Check> {
  let expire = () => {};
  const expired = new Promise<string>((resolve) => {
    expire = () => resolve(`the store did not answer within ${STORE_TIMEOUT_MS} ms`);
  });
  const timer = runtime.setTimer(STORE_TIMEOUT_MS, expire);
  // The exact error goes to the log only, because this answer is public.
  const answered = store.clock().then(
    () =>
      store.checkWrites().then(
        () => "",
        () => "the store answers, but cannot write: its disk or memory may be full",
      ),
    () => "the store cannot be reached",
  );
  const detail = await Promise.race([answered, expired]);
  timer.cancel();
  return check("store", detail === "", detail);
}

function checkReplicas(missing: ReturnType<Standing["missingReplicas"]>): Check {
  const { follow, required } = missing ?? { follow: 0, required: 0 };
  const detail =
    `${follow} of the ${required} replicas that MAINSPRING_REDIS_REPLICAS asks for follow Redis, ` +
    "so submits are answered with 503";
  return check("replicas", missing === null, detail);
}

function checkShards(share: ReturnType<Standing["share"]>, isMember: boolean): Check {
  if (share === null) return check("shards", true, "");
  if (!isMember) return check("shards", false, "without a lease it owns none");
  const { placed, had, isSettled } = share;
  return check("shards", isSettled, `it has ${had} of the ${placed} shards that are placed here`);
}

function checkPeers({ isCutOff, owners }: ReturnType<Standing["reach"]>): Check {
  const detail =
    `this node and the ${owners} that may own shards do not all reach each other, so it takes none: ` +
    "its cluster secret, API key, advertised address or the network between the nodes is wrong; its log names the nodes";
  return check("peers", !isCutOff, detail);
}
