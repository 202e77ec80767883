import type { ExecutionId } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { StreamSeats } from "../executions/stream-seats.ts";
import type { RunPicture, RunReader } from "./run-picture.ts";

/** Shortest interval between two reads of the followed runs, in milliseconds. */
const LOOK_MS = 500;
/** Pause after a read, as a multiple of its duration: reads for followers take a tenth of one connection at most. */
const PAUSES = 9;

/** Receiver of one run's events. */
export interface RunFollower {
  readonly tenant: Tenant;
  readonly run: ExecutionId;
  changed(picture: RunPicture): void;
}

interface RunFollowersDependencies {
  runs: Pick<RunReader, "picture">;
  runtime: Runtime;
  seats: StreamSeats;
}

/**
 * Streams that follow runs that are not final. The rows of a run's nodes change by commits that reach the api by no
 * message, so runs are read at intervals, each once for all of its followers, and only while there are followers.
 */
export class RunFollowers {
  readonly #deps: RunFollowersDependencies;
  readonly #followers = new Map<ExecutionId, Set<RunFollower>>();
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(deps: RunFollowersDependencies) {
    this.#deps = deps;
  }

  /** Adds a follower. @returns function that removes it. @throws {ProblemError} 429 while there are too many streams */
  enter(follower: RunFollower): () => void {
    const free = this.#deps.seats.take();
    const same = this.#followers.get(follower.run) ?? new Set();
    this.#followers.set(follower.run, same.add(follower));
    this.#schedule(LOOK_MS);
    return () => {
      free();
      same.delete(follower);
      if (same.size === 0 && this.#followers.get(follower.run) === same) this.#followers.delete(follower.run);
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== null || this.#isClosed) return;
    this.#timer = this.#deps.runtime.setTimer(delayMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { runs, runtime } = this.#deps;
    const beganMs = runtime.monotonicMs();
    for (const [run, same] of [...this.#followers]) {
      const [follower] = same;
      if (follower === undefined) continue;
      // In an outage, nothing is known; the next read follows in any case.
      const picture = this.#isClosed ? null : await runs.picture(follower.tenant, run).catch(() => null);
      if (picture !== null) for (const follower of this.#followers.get(run) ?? []) follower.changed(picture);
    }
    this.#timer = null;
    if (this.#followers.size > 0) this.#schedule(Math.max(LOOK_MS, PAUSES * (runtime.monotonicMs() - beganMs)));
  }
}
