import { monotonicMs, sleep } from "../clock.ts";
import type { ClusterStore } from "../environment/postgres/cluster-store.ts";
import { note, tell } from "../faults/cluster/nodes.ts";
import { downStore, failOver, failOverBehind, hideStore } from "../faults/cluster/stores.ts";
import type { ClusterWorld, Node } from "../faults/world.ts";
import type { ProcessFault } from "../history/events.ts";
import { type Incident, SHARDS, shardsOf } from "./gaps.ts";

/**
 * Action of a drill. KILL: SIGKILL and restart. STOP: SIGSTOP past the lease, then SIGCONT. RESTART: SIGTERM and
 * restart. OUTAGE: PostgreSQL down. BLACKOUT: PostgreSQL hidden from all nodes. FAILOVER and LOSSY_FAILOVER: PostgreSQL
 * killed and its standby promoted, one for which every commit waits, and one for which none does.
 */
export type Action = "KILL" | "STOP" | "RESTART" | "OUTAGE" | "BLACKOUT" | "FAILOVER" | "LOSSY_FAILOVER";

/** Actions that need nodes with the addresses of all PostgreSQL servers. */
export const FAILOVERS: readonly Action[] = ["FAILOVER", "LOSSY_FAILOVER"];

interface Doing {
  /** Event that is written into the history. */
  event: ProcessFault;
  /** @returns start of the search for a gap, and its shards */
  perform(world: ClusterWorld<ClusterStore>, node: Node, outageMs: number): Promise<Incident>;
}

/** Actions that keep all nodes from PostgreSQL while an outage lasts. */
export const OUTAGES: readonly Action[] = ["OUTAGE", "BLACKOUT"];

/** Time after which the effects of a death are over, in milliseconds. */
const DEAD_MS = 5_000;
const STOPPED_MS = 7_000;
/** Largest number of polls, at fifty a second. */
const LOOKS_MAX = 3_000;
/** Default duration of an outage, in milliseconds: longer than a lease, and than the statement timeout. */
export const OUTAGE_MS = 14_000;
/** Lag of a standby for which no commit waits, in milliseconds. */
const LAG_MS = 100;

export const ACTIONS: Record<Action, Doing> = {
  KILL: toNode("SERVER_KILLED", async (world, node) => {
    const { server } = node;
    await server.kill();
    const [takenOverMs] = await Promise.all([takenOver(world, node), sleep(DEAD_MS)]);
    server.start();
    return takenOverMs;
  }),
  STOP: toNode("SERVER_STOPPED", async (world, node) => {
    const { server } = node;
    server.signal("SIGSTOP");
    const [takenOverMs] = await Promise.all([takenOver(world, node), sleep(STOPPED_MS)]);
    note(world, "SERVER_CONTINUED", server.pid);
    server.signal("SIGCONT");
    return takenOverMs;
  }),
  RESTART: toNode("SERVER_RESTARTED", async (_world, { server }) => {
    await server.stop();
    server.start();
  }),
  OUTAGE: toStore(downStore),
  BLACKOUT: toStore(hideStore),
  FAILOVER: toStore(failOver, "STORE_FAILED_OVER"),
  LOSSY_FAILOVER: toStore((world) => failOverBehind(world, LAG_MS), "STORE_FAILED_OVER"),
};

/** @param action resolves with the time until all shards of the node had other owners, if that is measured */
function toNode(
  event: ProcessFault,
  action: (world: ClusterWorld<ClusterStore>, node: Node) => Promise<number | void>,
): Doing {
  return {
    event,
    async perform(world, node) {
      const { server } = node;
      const shards = shardsOf(
        await world.store.sql(
          `SELECT s.id FROM shards s JOIN nodes n ON n.incarnation = s.owner WHERE n.name = '${node.address}'`,
        ),
      );
      const atMs = monotonicMs();
      tell(world, event, server.pid);
      const takenOverMs = await action(world, node);
      await server.ready();
      note(world, "SERVER_READY", server.pid);
      return { atMs, shards, ...(takenOverMs !== undefined && { takenOverMs }) };
    },
  };
}

/** Polls PostgreSQL itself. @returns time until the node owned no shard */
async function takenOver({ store }: ClusterWorld<ClusterStore>, { address }: Node): Promise<number> {
  const sinceMs = monotonicMs();
  const owned = `SELECT FROM shards s JOIN nodes n ON n.incarnation = s.owner WHERE n.name = '${address}'`;
  await store.sql(`DO $$ BEGIN FOR look IN 1..${LOOKS_MAX} LOOP
    EXIT WHEN NOT EXISTS (${owned}); PERFORM pg_sleep(0.02); END LOOP; END $$`);
  return monotonicMs() - sinceMs;
}

/** @param action resolves with the start of the search for a gap */
function toStore(
  action: (world: ClusterWorld<ClusterStore>, forMs: number) => Promise<number>,
  event: ProcessFault = "STORE_DOWN",
): Doing {
  const shards = new Set(Array.from({ length: SHARDS }, (_, shard) => shard));
  return { event, perform: async (world, _node, outageMs) => ({ atMs: await action(world, outageMs), shards }) };
}
