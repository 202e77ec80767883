import { monotonicMs, sleep } from "../../clock.ts";
import { killClient, killWorker, retireWorker, stopWorker } from "../people.ts";
import type { ClusterWorld } from "../world.ts";
import { disturb } from "./links.ts";
import { killNode, restartNode, stopNode, stopNodePastAll } from "./nodes.ts";
import { linkSteps, PEOPLE_FAULTS, type PeopleFault, rounds, SYSTEM_FAULTS, type SystemFault } from "./plan.ts";
import { abortStore, downStore, failOver, fillStore, hideStore, killStore } from "./stores.ts";

/** In a run that is long enough for it. */
const LONG_RUN_MS = 600_000;
const LOST_WITHIN_MS = 60_000;
const DOWN_MS = { short: 8_000, long: 60_000 };

const TO_PEOPLE: Record<PeopleFault, (world: ClusterWorld) => Promise<void>> = {
  // Every new owner waits for a silent worker anew, so in the midst of other faults it may take long; the judge wants to
  // see it once.
  WORKER_STOPPED: (world) => stopWorker(world, LOST_WITHIN_MS).catch((error: Error) => world.say(error.message)),
  WORKER_KILLED: killWorker,
  WORKER_RETIRED: retireWorker,
  CLIENT_KILLED: killClient,
};

/** All kinds of faults, each at least once, in three rows side by side. Ends with everybody up and clear links. */
export async function injectChaos(world: ClusterWorld, forMs: number): Promise<void> {
  const endMs = monotonicMs() + forMs;
  const toSystem = systemFaults(forMs >= LONG_RUN_MS ? DOWN_MS.long : DOWN_MS.short);
  await Promise.all([
    row(world, SYSTEM_FAULTS, endMs, (fault) => toSystem[fault](world)),
    row(world, PEOPLE_FAULTS, endMs, (fault) => TO_PEOPLE[fault](world)),
    row(world, linkSteps(), endMs, ({ link, weather }) => disturb(world, link, weather)),
  ]);
}

function systemFaults(downMs: number): Record<SystemFault, (world: ClusterWorld) => Promise<void>> {
  let [stops, outages] = [0, 0];
  return {
    SERVER_KILLED: killNode,
    // The first stop, and every third after it, outlasts every timeout.
    SERVER_STOPPED: (world) => (stops++ % 3 === 0 ? stopNodePastAll(world) : stopNode(world)),
    SERVER_RESTARTED: restartNode,
    STORE_KILLED: killStore,
    STORE_ABORTED: abortStore,
    STORE_DOWN: async (world) => void (await (outages++ % 2 === 0 ? downStore : hideStore)(world, downMs)),
    STORE_FULL: async (world) => {
      const { cannotBeFull } = world.store;
      if (cannotBeFull === null) await fillStore(world);
      else world.say(`STORE_FULL is left out, for nothing can be mounted here: ${cannotBeFull}`);
    },
    STORE_FAILED_OVER: async (world) => void (await failOver(world)),
  };
}

/** One step after the other, each at least once, until the time is over. */
async function row<Step>(
  world: ClusterWorld,
  steps: readonly Step[],
  endMs: number,
  perform: (step: Step) => Promise<void>,
): Promise<void> {
  let done = 0;
  for (const { gapMs, step } of rounds(world.dice, steps)) {
    if (done++ >= steps.length && monotonicMs() > endMs) return;
    await sleep(gapMs);
    await perform(step);
  }
}
