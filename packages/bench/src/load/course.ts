import { nowMs } from "../clock.ts";
import type { Rig } from "../contenders/contender.ts";
import type { Figures } from "../figures.ts";
import { Meter } from "../meter/meter.ts";
import { prefill } from "./prefill.ts";

/** A rig, and what it has done so far. */
export class Course {
  readonly rig: Rig;
  /** Jobs that have finished since the rig was opened. */
  #finished = 0;
  /** Jobs that are due and are never to be run. */
  stuck = 0;

  constructor(rig: Rig) {
    this.rig = rig;
  }

  /** Prefilled jobs, one worker process: from the first handler's start until the store has the last finish. */
  async drain(jobs: number): Promise<Figures> {
    const { rig } = this;
    await rig.worker.expect(jobs);
    await prefill(rig, jobs);
    const meter = await Meter.begin(rig);
    await rig.worker.start();
    // Asking the store how far it is would be a part of the load.
    await rig.worker.reached(jobs);
    const endedAtMs = await this.settled(jobs);
    const costs = await meter.perJob(jobs);
    const { firstAtMs } = await this.verified(jobs);
    await rig.worker.stop();
    return { jobsPerSec: jobs / ((endedAtMs - firstAtMs) / 1_000), ...costs };
  }

  /** Everything is compiled, cached and connected when it is over. */
  async warmUp(jobs: number): Promise<void> {
    await this.drain(jobs);
  }

  /** @returns when the store had that many finished beyond those before */
  async settled(jobs: number): Promise<number> {
    await this.rig.settled(this.#finished + jobs);
    return nowMs();
  }

  /** What the worker saw of the jobs since `expect`. @throws one of them did not run and finish exactly once */
  async verified(jobs: number) {
    const report = await this.rig.worker.report();
    this.#finished += jobs;
    const { finished, unfinished } = await this.rig.recount(this.#finished + this.stuck);
    const left = unfinished - this.stuck;
    if (report.runs !== jobs || report.distinct !== jobs || left !== 0 || finished !== this.#finished) {
      throw new Error(
        `${jobs} jobs were submitted: ${report.runs} runs of ${report.distinct} jobs; of ${this.#finished} in all ${finished} have finished, ${left} not`,
      );
    }
    return report;
  }
}
