import type { Contender, OpenOptions, Rig } from "../contenders/contender.ts";
import type { Figures } from "../figures.ts";
import { Meter } from "../meter/meter.ts";
import type { Stage } from "../services/stage.ts";
import { prefill } from "./prefill.ts";

/** A rig, and what it has done so far. */
export class Course implements AsyncDisposable {
  readonly rig: Rig;
  #finished = 0;
  /** Jobs that are due and are never to be run. */
  stuck = 0;

  private constructor(rig: Rig) {
    this.rig = rig;
  }

  /** Opens a rig, and has it run jobs until all is compiled, cached and connected. Its worker goes on waiting for more. */
  static async warm(contender: Contender, stage: Stage, options?: OpenOptions): Promise<Course> {
    const course = new Course(await contender.open(stage, options));
    await course.#warmUp(stage.warmUpJobs).catch(async (error: unknown) => {
      await course[Symbol.asyncDispose]();
      throw error;
    });
    return course;
  }

  async #warmUp(jobs: number): Promise<void> {
    const { rig } = this;
    await rig.worker.start();
    await rig.worker.expect(jobs);
    await prefill(rig, jobs);
    await this.finished(jobs);
    await this.verified(jobs);
    await rig.vacuum("AS_THEY_ARE");
  }

  /** How many jobs have finished since the rig was opened. */
  get jobsBefore(): number {
    return this.#finished;
  }

  /** Prefilled jobs, one worker process: from the first handler's start until the store has the last finish. */
  async drain(jobs: number): Promise<Figures> {
    const { rig } = this;
    await rig.hold();
    await rig.worker.expect(jobs);
    await prefill(rig, jobs);
    const { runs } = await rig.worker.report();
    if (runs > 0) throw new Error(`${runs} of ${jobs} jobs ran before they were to`);
    const meter = await Meter.begin(rig);
    await rig.release();
    const endedAtMs = await this.finished(jobs);
    const costs = await meter.perJob(jobs);
    const { firstAtMs } = await this.verified(jobs);
    return { jobsPerSec: jobs / ((endedAtMs - firstAtMs) / 1_000), ...costs };
  }

  /** @returns when the store had so many finished beyond those before, in milliseconds since 1970 */
  async finished(jobs: number): Promise<number> {
    // Asking the store how far it is would be a part of the load.
    await this.rig.worker.reached(jobs);
    return await this.rig.settled(this.#finished + jobs);
  }

  /** The jobs since `expect`, as the worker saw them. @throws one of them did not run and finish exactly once */
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }
}
