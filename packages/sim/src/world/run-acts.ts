import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { SimServer } from "./sim-server.ts";
import { signalNameOf, type Work } from "./sim-worker.ts";

const RETRY_MS = 2_000;
/** Number of requests after which a client gives up. */
const TRIES = 30;
/** Interval at which an operator looks whether a run is paused that was resumed, in milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** A pause, in milliseconds since the submit was answered. */
interface PlannedPause {
  fromMs: number;
  forMs: number;
}

/** Pauses of some runs, one after the other. */
export function somePauses(random: SeededRandom): PlannedPause[] {
  if (!random.chance(0.4)) return [];
  let fromMs = 0;
  return Array.from({ length: random.between(1, 2) }, () => {
    fromMs += random.between(0, random.pick([200, 5_000, 30_000]));
    const forMs = random.between(0, random.pick([1_000, 30_000, 120_000]));
    const pause = { fromMs, forMs };
    fromMs += forMs;
    return pause;
  });
}

/** Operators who pause and resume runs of workflows, and clients who send signals to nodes by their names. */
export class RunActs {
  readonly #clock: VirtualClock;
  readonly #server: () => SimServer | null;
  /** Runs whose operator has resumed them and has seen them final. */
  readonly #seenFinal = new Set<string>();

  constructor(clock: VirtualClock, server: () => SimServer | null) {
    this.#clock = clock;
    this.#server = server;
  }

  /** Plans the acts on a run that was submitted just now. @param works works of its nodes, by number */
  begin(run: string, pauses: readonly PlannedPause[], works: readonly Work[]): void {
    for (const { fromMs, forMs } of pauses) {
      let isOver = false;
      this.#clock.plan(fromMs, () =>
        this.#repeat(
          (server) => server.order("PAUSE_RUN", run),
          () => isOver,
        ),
      );
      this.#clock.plan(fromMs + forMs, () => {
        isOver = true;
        void this.#repeat(
          (server) => server.order("RESUME_RUN", run),
          () => false,
        );
      });
    }
    const last = pauses.at(-1);
    if (last !== undefined) this.#clock.plan(last.fromMs + last.forMs + LOOK_EVERY_MS, () => void this.#look(run));
    for (const [node, { waits }] of works.entries()) {
      for (const [index, { signalsAfterMs }] of waits.entries()) {
        for (const [count, afterMs] of (signalsAfterMs ?? []).entries()) {
          const signal = { id: `${index}.${count}`, name: signalNameOf(index), data: null };
          this.#clock.plan(afterMs, () =>
            this.#repeat(
              (server) => server.signalNode(run, node, signal),
              () => false,
            ),
          );
        }
      }
    }
  }

  /** Resumes a run until it is final: the pause may have taken effect after the resume, because its answer was lost. */
  async #look(run: string): Promise<void> {
    const server = this.#server();
    const view = await server?.store?.queries.getRun("default", run).catch(() => undefined);
    if (view === null) return;
    if (view !== undefined && view.finishedAt !== null) return void this.#seenFinal.add(run);
    if (view?.paused === true) await server?.order("RESUME_RUN", run).catch(() => undefined);
    this.#clock.plan(LOOK_EVERY_MS, () => void this.#look(run));
  }

  /** Has operators look again at runs that they have seen final, because the store does not know of it any more. */
  lookAgain(): void {
    for (const run of this.#seenFinal) this.#clock.plan(LOOK_EVERY_MS, () => void this.#look(run));
    this.#seenFinal.clear();
  }

  /** Sends a request until it is answered. */
  async #repeat(send: (server: SimServer) => Promise<void>, isOver: () => boolean, tries = TRIES): Promise<void> {
    let isDone = false;
    const again = () => {
      if (!isDone && !isOver() && tries > 1) void this.#repeat(send, isOver, tries - 1);
      isDone = true;
    };
    this.#clock.plan(RETRY_MS, again);
    const server = this.#server();
    if (server === null) return;
    await send(server).then(
      () => (isDone = true),
      () => undefined,
    );
  }
}
