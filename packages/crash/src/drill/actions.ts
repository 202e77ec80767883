import { monotonicMs, sleep } from "../clock.ts";
import { note, tell } from "../faults/cluster/nodes.ts";
import { downStore, failOver, failOverBehind, hideStore } from "../faults/cluster/stores.ts";
import type { ClusterWorld, Node } from "../faults/world.ts";
import type { ProcessFault } from "../history/events.ts";
import { type Incident, SHARDS, shardsOf } from "./gaps.ts";

/**
 * SIGKILL and started again; SIGSTOP past its lease and SIGCONT; SIGTERM and started again; PostgreSQL down; PostgreSQL
 * hidden from all nodes; PostgreSQL killed and its standby promoted, one that every commit waits for, and one that none does.
 */
export type Deed = "KILL" | "STOP" | "RESTART" | "OUTAGE" | "BLACKOUT" | "FAILOVER" | "LOSSY_FAILOVER";

/** Deeds for which nodes have to know the addresses of all PostgreSQL servers. */
export const FAILOVERS: readonly Deed[] = ["FAILOVER", "LOSSY_FAILOVER"];

interface Doing {
  /** How it is written down. */
  event: ProcessFault;
  /** @returns from when on a gap is to be looked for, and in which shards */
  perform(world: ClusterWorld, node: Node, outageMs: number): Promise<Incident>;
}

/** Deeds that keep all nodes from PostgreSQL for as long as an outage lasts. */
export const OUTAGES: readonly Deed[] = ["OUTAGE", "BLACKOUT"];

/** Long enough for what follows a death to be over. */
const DEAD_MS = 5_000;
const STOPPED_MS = 7_000;
/** Fifty a second. */
const LOOKS_MAX = 3_000;
/** Default duration of an outage, longer than a lease, and than a statement may take. */
export const OUTAGE_MS = 14_000;
/** How far a standby is behind that no commit waits for. */
const LAG_MS = 100;

export const DEEDS: Record<Deed, Doing> = {
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

/** @param deed resolves with how long after it all shards of the node had other owners, where that is asked for */
function toNode(event: ProcessFault, deed: (world: ClusterWorld, node: Node) => Promise<number | void>): Doing {
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
      const takenOverMs = await deed(world, node);
      await server.ready();
      note(world, "SERVER_READY", server.pid);
      return { atMs, shards, ...(takenOverMs !== undefined && { takenOverMs }) };
    },
  };
}

/** PostgreSQL itself looks again and again. @returns after how long nothing was the node's any more */
async function takenOver({ store }: ClusterWorld, { address }: Node): Promise<number> {
  const sinceMs = monotonicMs();
  const owned = `SELECT FROM shards s JOIN nodes n ON n.incarnation = s.owner WHERE n.name = '${address}'`;
  await store.sql(`DO $$ BEGIN FOR look IN 1..${LOOKS_MAX} LOOP
    EXIT WHEN NOT EXISTS (${owned}); PERFORM pg_sleep(0.02); END LOOP; END $$`);
  return monotonicMs() - sinceMs;
}

/** @param deed resolves with the instant from which on a gap is to be looked for */
function toStore(
  deed: (world: ClusterWorld, forMs: number) => Promise<number>,
  event: ProcessFault = "STORE_DOWN",
): Doing {
  const shards = new Set(Array.from({ length: SHARDS }, (_, shard) => shard));
  return { event, perform: async (world, _node, outageMs) => ({ atMs: await deed(world, outageMs), shards }) };
}
