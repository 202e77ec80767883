import { type Checker, Violation } from "./checker.ts";
import type { WorkerTracker } from "./cluster/worker-tracker.ts";
import { isOver, type Ledger } from "./recurring/ledger.ts";

/** Metrics that a living server shows. */
export interface Shown {
  node: string;
  gauges: Record<string, number>;
  /** Number of executions that the server made final, by state. */
  finals: ReadonlyMap<string, number>;
}

/**
 * Counters equal a recount. When everything is at rest, nothing waits, runs or is in the journal, every shard has an
 * owner, and a server that received every answer of the store has counted exactly its own writes.
 */
export function countersEqualARecount(
  ledger: Ledger,
  tracker: WorkerTracker,
  servers: () => readonly Shown[],
): Checker {
  const journal = new Set<string>();
  const finals = new Map<string, number>();
  let doubtful = false;
  const expect = (what: string, shown: number, counted: number) => {
    if (shown !== counted) throw new Violation(`the servers show ${what} ${shown}, and a recount gives ${counted}`);
  };
  return {
    name: "counters equal a recount",
    saw(event) {
      if (event.kind === "WENT_BACK") {
        journal.clear();
        for (const { shard, ref } of event.journals) journal.add(`${shard}/${ref.epoch}/${ref.seq}`);
        doubtful = true;
      }
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      const { shard, epoch, journalSeq, assigned, settledJournals } = event.asked;
      for (const ref of settledJournals) journal.delete(`${shard}/${ref.epoch}/${ref.seq}`);
      if (assigned.length > 0) journal.add(`${shard}/${epoch}/${journalSeq}`);
      for (const { after } of event.applied) {
        if (!isOver(after.state)) continue;
        const name = `${event.by} ${after.state}`;
        finals.set(name, (finals.get(name) ?? 0) + 1);
      }
    },
    noticed(event) {
      // A server cannot have counted a write whose answer it did not receive.
      if (event.kind === "STORE_FAULT" && event.operation === "commit") doubtful = true;
    },
    atEnd() {
      const shown = servers();
      const sum = (name: string) => shown.reduce((total, { gauges }) => total + (gauges[name] ?? 0), 0);
      expect("waiting", sum("waiting") + sum("ready") + sum("assigned"), ledger.open.size);
      expect("shards", sum("ownedShards"), 64);
      expect("open rows of the journal", journal.size, 0);
      const connected = [...tracker.workers.values()].filter(({ server }) => server !== null).length;
      expect("workers", sum("workersConnected"), connected);
      if (doubtful) return;
      for (const server of shown) {
        for (const [state, count] of server.finals) {
          expect(`${state} of ${server.node}`, count, finals.get(`${server.node} ${state}`) ?? 0);
        }
      }
    },
  };
}
