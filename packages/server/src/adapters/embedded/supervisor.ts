import { StoreUnusable } from "../../ports/store.ts";
import { damaged } from "./cluster.ts";
import { stopLeftovers } from "./leftovers.ts";
import { type Postmaster, type Serving, startPostmaster } from "./postmaster.ts";
import { afterRun, NO_RUNS } from "./restart-policy.ts";
import { hasRoom, noRoom } from "./room.ts";
import { pause } from "./waiting.ts";

/** Keeps PostgreSQL running on one data folder: restarts it whenever it dies. */
export class Supervisor {
  /** Resolves with the reason when PostgreSQL cannot be kept running; otherwise stays pending, even after `stop`. */
  readonly exited: Promise<Error>;
  readonly #serving: Serving;
  readonly #finished: Promise<Error | null>;
  readonly #stopAsked = Promise.withResolvers<void>();
  #postmaster: Postmaster;
  #isStopping = false;

  private constructor(serving: Serving, first: Postmaster) {
    this.#serving = serving;
    this.#postmaster = first;
    this.#finished = this.#keepUp();
    this.exited = new Promise((resolve) => {
      void this.#finished.then((reason) => reason !== null && resolve(reason));
    });
  }

  /** @throws {StoreUnusable} PostgreSQL does not start */
  static async start(serving: Serving): Promise<Supervisor> {
    await stopLeftovers(serving);
    for (;;) {
      const first = startPostmaster(serving);
      if (await first.ready) return new Supervisor(serving, first);
      const reason = await first.ended;
      // A server was killed while it started PostgreSQL; that process has become visible only now, and blocked the
      // start.
      if (await stopLeftovers(serving)) continue;
      const { pgdata } = serving.installation;
      throw new StoreUnusable((await hasRoom(pgdata)) ? damaged(pgdata, reason) : noRoom(pgdata));
    }
  }

  /** Id of PostgreSQL's present process. */
  get pid(): number {
    return this.#postmaster.pid;
  }

  /** Stops PostgreSQL and does not restart it. Repeated calls do nothing. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopAsked.resolve();
    await this.#postmaster.stop();
    await this.#finished;
  }

  /** @returns reason why PostgreSQL could not be kept running; null: it was stopped */
  async #keepUp(): Promise<Error | null> {
    const { runtime, log, installation } = this.#serving;
    let history = NO_RUNS;
    for (;;) {
      const run = await this.#outlive(this.#postmaster);
      if (this.#isStopping) return null;
      const hadRoom = await hasRoom(installation.pgdata);
      const next = afterRun(history, run.readyMs, hadRoom);
      history = next.history;
      // PostgreSQL's own log lies on the same full disk and may not have the reason.
      const reason = hadRoom ? run.reason : `${noRoom(installation.pgdata)} ${run.reason}`;
      log.error(
        { pid: this.#postmaster.pid, reason, restartInMs: next.delayMs },
        "the embedded PostgreSQL ended without being asked to",
      );
      if (next.delayMs === null) return new Error(`PostgreSQL cannot be kept running: ${run.reason}`);
      await Promise.race([pause(runtime, next.delayMs), this.#stopAsked.promise]);
      // The dead postmaster left its workers behind, which hold the memory that the next one needs.
      await stopLeftovers(this.#serving).catch((error: unknown) =>
        log.error({ err: error }, "the node could not end leftover processes of PostgreSQL"),
      );
      if (this.#isStopping) return null;
      this.#postmaster = startPostmaster(this.#serving);
    }
  }

  /** Waits for the end of a run; returns why it ended, and for how long it accepted connections. */
  async #outlive(postmaster: Postmaster): Promise<{ reason: string; readyMs: number | null }> {
    const { runtime, log } = this.#serving;
    const isReady = await postmaster.ready;
    const sinceMs = runtime.monotonicMs();
    if (isReady) log.info({ pid: postmaster.pid }, "PostgreSQL takes connections");
    const reason = await postmaster.ended;
    return { reason, readyMs: isReady ? runtime.monotonicMs() - sinceMs : null };
  }
}
