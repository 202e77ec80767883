import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";

/** A store that takes longer is one that work should not be sent to. */
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
  /** Resolves where nothing says that it cannot write, or it can again. */
  checkWrites(): Promise<void>;
}

/** How a node stands, asked anew for each answer. */
export interface Standing {
  /** Whether its lease stands: that the others know of it. */
  isMember(): boolean;
  /** Whether it is to give its work to the others. */
  isDraining(): boolean;
  isStopping(): boolean;
  /** How it and the owners of shards reach each other. */
  reach(): { isCutOff: boolean; owners: number };
  /** Shards that the node owns of those placed on it; null: its roles let it own none. */
  share(): { placed: number; had: number; isSettled: boolean } | null;
}

/**
 * Whether work should be sent here, by what is true of this node alone: what befalls another one must not make a load
 * balancer leave all of them. So of shards only those count that are placed here, and that some have just been placed here
 * and are on their way does not count. A rolling restart waits for this before the next node.
 * Never throws.
 */
export async function readiness(store: CheckedStore, runtime: Runtime, standing: Standing): Promise<Readiness> {
  const checks = [
    await checkStore(store, runtime),
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
  // The exact error is for the log: this answer is public.
  const answered = store.clock().then(
    () =>
      store.checkWrites().then(
        () => "",
        () => "the store answers, but cannot write: its disk may be full",
      ),
    () => "the store cannot be reached",
  );
  const detail = await Promise.race([answered, expired]);
  timer.cancel();
  return check("store", detail === "", detail);
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
