import { sleep } from "../../clock.ts";
import type { BesideStore } from "../../environment/beside-store.ts";
import type { ProcessFault } from "../../history/events.ts";
import { busyWorker } from "../in-flight.ts";
import type { ClusterWorld } from "../world.ts";
import { note, tell } from "./nodes.ts";

/** Faults of systems for which no job waits. Each resolves when the system answers again. */

const LASTS_MS = { least: 1_000, most: 10_000 };

type What = "KILLED" | "STOPPED" | "CUT" | "FLUSHED";

/** Faults of a system. */
export function besideFaults({ name, flush }: Pick<BesideStore, "name" | "flush">): ProcessFault[] {
  const faults = [`${name}_KILLED`, `${name}_STOPPED`, `${name}_CUT`] as const satisfies ProcessFault[];
  return flush === null ? [...faults] : [...faults, "REDIS_FLUSHED"];
}

export async function toBeside(world: ClusterWorld, system: BesideStore, fault: ProcessFault): Promise<void> {
  const { name, child, link, flush } = system;
  const forMs = world.random.between(LASTS_MS.least, LASTS_MS.most);
  await busyWorker(world, 1);
  tell(world, fault, child.pid);
  const does: Record<What, () => Promise<void>> = {
    async KILLED() {
      await child.kill();
      await sleep(forMs);
      await child.restart();
    },
    async STOPPED() {
      child.freeze();
      await sleep(forMs);
      child.resume();
    },
    async CUT() {
      link.linkFault = { kind: "DROPPED", directions: ["TO_SERVER", "TO_CLIENT"] };
      await sleep(forMs);
      link.linkFault = { kind: "CLEAR" };
    },
    async FLUSHED() {
      await flush?.();
    },
  };
  await does[fault.slice(name.length + 1) as What]();
  note(world, `${name}_READY`, child.pid);
  world.say(`${name}_READY`);
}
