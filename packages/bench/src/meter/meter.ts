import type { Ledger, Rig } from "../contenders/contender.ts";
import type { Figures } from "../figures.ts";
import { cpuUsOf, treeCpuUsOf } from "./process-cpu.ts";

interface Reading extends Ledger {
  serverUs: number;
  workerUs: number;
  storeUs: number;
}

/** Cost of some work: CPU of all that takes part, and what the store wrote. */
export class Meter {
  readonly #rig: Rig;
  readonly #before: Reading;

  private constructor(rig: Rig, before: Reading) {
    this.#rig = rig;
    this.#before = before;
  }

  static async begin(rig: Rig): Promise<Meter> {
    return new Meter(rig, await readingOf(rig));
  }

  /** Since `begin`, for each of that many jobs. */
  async perJob(jobs: number): Promise<Figures> {
    const before = this.#before;
    const after = await readingOf(this.#rig);
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
