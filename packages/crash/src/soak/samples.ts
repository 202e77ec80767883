import { readFileSync } from "node:fs";
import { monotonicMs, sleep } from "../clock.ts";
import type { ClusterEnvironment } from "../environment/cluster.ts";

/** State of the cluster at one moment. */
export interface Sample {
  /** Seconds since the load began. */
  atSec: number;
  /** Resident memory of the node that has the most, in MiB. */
  nodeMib: number;
  /** Number of executions that were ever written. */
  executions: number;
  /** Size of tables and indexes of jobs and executions, which grow until retention deletes rows, in MiB. */
  historyMib: number;
  /** Size of all other tables and their indexes, which must not grow, in MiB. */
  otherMib: number;
  /** WAL that PostgreSQL has written since the store was created, in MiB. */
  walMib: number;
}

const MIB = 1024 ** 2;
const STORE = `SELECT
  coalesce(sum(pg_total_relation_size(s.relid)) FILTER (WHERE s.relname ~ '^(jobs|executions)_'), 0),
  coalesce(sum(pg_total_relation_size(s.relid)) FILTER (WHERE s.relname !~ '^(jobs|executions)_'), 0),
  coalesce(sum(s.n_tup_ins) FILTER (WHERE s.relname ~ '^executions_'), 0),
  pg_current_wal_insert_lsn() - '0/0' FROM pg_stat_user_tables s`;

/** Takes a sample every `everyMs` milliseconds, for `forMs` milliseconds. */
export async function takeSamples(environment: ClusterEnvironment, forMs: number, everyMs: number): Promise<Sample[]> {
  const begunMs = monotonicMs();
  const samples: Sample[] = [];
  for (;;) {
    const sample = await takeSample(environment, (monotonicMs() - begunMs) / 1_000);
    samples.push(sample);
    environment.say(told(sample));
    const leftMs = begunMs + forMs - monotonicMs();
    if (leftMs <= 0) return samples;
    await sleep(Math.min(everyMs, leftMs));
  }
}

async function takeSample({ nodes, store }: ClusterEnvironment, atSec: number): Promise<Sample> {
  const [history = 0, other = 0, executions = 0, wal = 0] = (await store.sql(STORE)).split("|").map(Number);
  const nodeMib = Math.max(...nodes.map(({ server }) => residentMib(server.pid)));
  return { atSec, nodeMib, executions, historyMib: history / MIB, otherMib: other / MIB, walMib: wal / MIB };
}

function residentMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024;
}

function told({ nodeMib, executions, historyMib, otherMib, walMib }: Sample): string {
  const [node, history, other, wal] = [nodeMib, historyMib, otherMib, walMib].map(Math.round);
  return `${executions} executions; the largest node ${node} MiB; history ${history}, other tables ${other}, log ${wal} MiB`;
}
