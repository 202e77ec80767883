import { monotonicMs, sleep } from "../clock.ts";
import { type Action, opening, round, type Step } from "./plan.ts";
import { killServer, killServerAndStore, killStore, pauseServer, restartServer } from "./servers.ts";
import { killClient, killWorker, retireWorker, stopWorker } from "./users.ts";
import type { World } from "./world.ts";

const RUN: Record<Exclude<Action, "STOP_WORKER">, (world: World) => Promise<void>> = {
  KILL_SERVER: killServer,
  PAUSE_SERVER: pauseServer,
  RESTART_SERVER: restartServer,
  KILL_STORE: killStore,
  KILL_SERVER_AND_STORE: killServerAndStore,
  KILL_WORKER: killWorker,
  RETIRE_WORKER: retireWorker,
  KILL_CLIENT: killClient,
};

/** Injects one fault after the other, each kind at least once. At the end, all processes run. */
export async function injectFaults(world: World, forMs: number): Promise<void> {
  const endMs = monotonicMs() + forMs;
  const stops = new Stops(world);
  stops.begin();
  while (stops.areBusy) {
    for (const step of opening(world.random)) if (stops.areBusy) await perform(world, step, stops);
  }
  do {
    for (const step of round(world.random)) await perform(world, step, stops);
    // A server that dies more often than every half minute never declares a silent worker lost.
    await stops.over();
  } while (monotonicMs() < endMs);
}

async function perform(world: World, { gapMs, action }: Step, stops: Stops): Promise<void> {
  await sleep(gapMs);
  if (action === "STOP_WORKER") stops.begin();
  else await RUN[action](world);
  stops.check();
}

/** Stops workers beside all other faults, one at a time, so that other workers go on. */
class Stops {
  areBusy = false;
  readonly #world: World;
  #last: Promise<void> = Promise.resolve();
  #failure: unknown = null;

  constructor(world: World) {
    this.#world = world;
  }

  begin(): void {
    if (this.areBusy) return;
    this.areBusy = true;
    this.#last = stopWorker(this.#world)
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .finally(() => {
        this.areBusy = false;
      });
  }

  check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  async over(): Promise<void> {
    await this.#last;
    this.check();
  }
}
