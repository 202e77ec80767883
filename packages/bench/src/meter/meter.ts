import type { Ledger, Rig } from "../contenders/contender.ts";
import type { Figures } from "../figures.ts";
import { cpuUsOf, treeCpuUsOf } from "./process-cpu.ts";

interface Reading extends Ledger {
  serverUs: number;
  workerUs: number;
  storeUs: number;
}

/** Cost of some work: CPU time of all parts, and bytes that the store wrote. */
export class Meter {
  readonly #rig: Rig;
  readonly #before: Reading;
  /** Reading at the latest pause; null: none. */
  #paused: Reading | null = null;

  private constructor(rig: Rig, before: Reading) {
    this.#rig = rig;
    this.#before = before;
  }

  static async begin(rig: Rig): Promise<Meter> {
    return new Meter(rig, await readingOf(rig));
  }

  /** Takes a reading as the end of the measurement, unless a later one follows. */
  async pause(): Promise<void> {
    this.#paused = await readingOf(this.#rig);
  }

  /** Cost per job from `begin` until the latest pause; until now if there was none. */
  async perJob(jobs: number): Promise<Figures> {
    const before = this.#before;
    const after = this.#paused ?? (await readingOf(this.#rig));
    const each = (name: Exclude<keyof Reading, "writes" | "rewrites">) => (after[name] - before[name]) / jobs;
    const writes = after.writes === null || before.writes === null ? null : after.writes - before.writes;
    return {
      ...(this.#rig.processes().server.length > 0 && { serverCpuUs: each("serverUs") }),
      workerCpuUs: each("workerUs"),
      storeCpuUs: each("storeUs"),
      totalCpuUs: each("serverUs") + each("workerUs") + each("storeUs"),
      ...(this.#rig.ledger !== null && after.rewrites === before.rewrites && { logBytes: each("logBytes") }),
      ...(writes !== null && { writesPerThousand: (writes / jobs) * 1_000 }),
    };
  }
}

async function readingOf(rig: Rig): Promise<Reading> {
  const { server, worker, store } = rig.processes();
  const sum = (pids: readonly number[], cpu: (pid: number) => number) => pids.reduce((us, pid) => us + cpu(pid), 0);
  const ledger = (await rig.ledger?.()) ?? { logBytes: 0, rewrites: 0, writes: null };
  return {
    serverUs: sum(server, cpuUsOf),
    workerUs: sum(worker, cpuUsOf),
    storeUs: sum(store, treeCpuUsOf),
    ...ledger,
  };
}
