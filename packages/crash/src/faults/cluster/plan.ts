import { LINK_FAULTS, type LinkFaultKind } from "../../environment/proxy/link-fault.ts";
import { type Fault, LINKS, type LinkFault, type LinkName, type ProcessFault } from "../../history/events.ts";
import type { SeededRandom } from "../../seeded-random.ts";
import { ETCD_FAULTS } from "./etcd.ts";

/**
 * Faults of the nodes and their store, one after the other; faults of the links, and of workers and clients, run beside
 * them.
 */
export const SYSTEM_FAULTS = [
  "SERVER_KILLED",
  "SERVER_KILLED",
  "SERVER_STOPPED",
  "SERVER_RESTARTED",
  "STORE_KILLED",
  "STORE_ABORTED",
  "STORE_DOWN",
  "STORE_FULL",
  "STORE_FAILED_OVER",
] as const satisfies ProcessFault[];
export type SystemFault = (typeof SYSTEM_FAULTS)[number];

export const PEOPLE_FAULTS = [
  "WORKER_STOPPED",
  "WORKER_KILLED",
  "WORKER_KILLED",
  "WORKER_RETIRED",
  "CLIENT_KILLED",
  "CLIENT_KILLED",
] as const satisfies ProcessFault[];
export type UserFault = (typeof PEOPLE_FAULTS)[number];

export interface LinkStep {
  link: LinkName;
  linkFault: LinkFaultKind;
}

const LINK_STEPS: readonly LinkStep[] = LINKS.flatMap((link) => LINK_FAULTS.map((linkFault) => ({ link, linkFault })));

/** Pause before the next step, in milliseconds. */
const GAP_MS = { least: 200, most: 1_500 };

/** Yields every fault of a list in an order that the seed decides, again and again. */
export function* rounds<Step>(
  random: SeededRandom,
  steps: readonly Step[],
): Generator<{ gapMs: number; step: Step }, never> {
  for (;;) {
    for (const step of random.shuffle(steps)) yield { gapMs: random.between(GAP_MS.least, GAP_MS.most), step };
  }
}

export function linkSteps(): readonly LinkStep[] {
  return LINK_STEPS;
}

/**
 * Number of times that a run must show each fault. @param cannotBeFull whether the store's disk cannot be filled on
 * this machine @param hasEtcd whether an etcd keeps the leases
 */
export function chaosDemands(cannotBeFull: boolean, hasEtcd: boolean): Partial<Record<Fault, number>> {
  const links = LINK_STEPS.map(({ link, linkFault }): LinkFault => `${link}_${linkFault}`);
  const all: readonly Fault[] = [...SYSTEM_FAULTS, ...PEOPLE_FAULTS, ...(hasEtcd ? ETCD_FAULTS : []), ...links];
  const demands = Object.fromEntries(all.map((fault) => [fault, 1])) as Partial<Record<Fault, number>>;
  if (cannotBeFull) delete demands.STORE_FULL;
  return demands;
}
