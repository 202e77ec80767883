import type { Contender, OpenOptions, Rig } from "../contenders/contender.ts";
import type { Figures } from "../figures.ts";
import { Meter } from "../meter/meter.ts";
import type { Stage } from "../services/stage.ts";
import { prefill } from "./prefill.ts";

/** A rig, and the jobs that it has run so far. */
export class Course implements AsyncDisposable {
  readonly rig: Rig;
  #finished = 0;
  /** Number of due jobs that must never run. */
  stuck = 0;

  private constructor(rig: Rig) {
    this.rig = rig;
  }

  /**
   * Opens a rig, and runs jobs until everything is compiled, cached and connected. Its worker keeps waiting for more.
   */
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

  /** Number of jobs that have finished since the rig was opened. */
  get jobsBefore(): number {
    return this.#finished;
  }

  /**
   * Runs prefilled jobs with one worker process, and measures from the first handler's start until the store has the
   * last finish.
   */
  async drain(jobs: number): Promise<Figures> {
    const { rig } = this;
    await rig.hold();
    await rig.worker.expect(jobs);
    await prefill(rig, jobs);
    const { runs } = await rig.worker.report();
    if (runs > 0) throw new Error(`${runs} of ${jobs} jobs ran before they were to`);
    const meter = await Meter.begin(rig);
    await rig.release();
    const endedAtMs = await this.finished(jobs, { meter });
    const costs = await meter.perJob(jobs);
    const { firstAtMs } = await this.verified(jobs);
    return { jobsPerSec: jobs / ((endedAtMs - firstAtMs) / 1_000), ...costs };
  }

  /**
   * @param options.meter ends its measurement before the rig counts the jobs in the store
   * @param options.withinMs longest wait for a start and for the store, in milliseconds; default: three minutes
   * @returns time at which the store had this number of further finished jobs, in milliseconds since 1970
   */
  async finished(jobs: number, { meter, withinMs }: { meter?: Meter; withinMs?: number } = {}): Promise<number> {
    // Polling the store for its progress would add load.
    await this.rig.worker.reached(jobs, withinMs);
    const atRest = async () => meter?.pause();
    return await this.rig.settled(this.#finished + jobs, { stuck: this.stuck, atRest, withinMs });
  }

  /** Records of the worker about the jobs since `expect`. @throws a job did not run and finish exactly once */
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
