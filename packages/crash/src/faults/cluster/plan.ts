import type { BesideStore } from "../../environment/beside-store.ts";
import type { ChaosStore } from "../../environment/chaos-store.ts";
import { LINK_FAULTS, type LinkFaultKind } from "../../environment/proxy/link-fault.ts";
import { type Fault, LINKS, type LinkFault, type LinkName, type ProcessFault } from "../../history/events.ts";
import type { SeededRandom } from "../../seeded-random.ts";
import { besideFaults } from "./beside.ts";
import { ETCD_FAULTS } from "./etcd.ts";
import { kafkaFaults } from "./kafka.ts";

/** Faults of the nodes; they and those of the store happen one after the other. Faults of links, workers and clients run beside them. */
export const NODE_FAULTS = [
  "SERVER_KILLED",
  "SERVER_KILLED",
  "SERVER_STOPPED",
  "SERVER_RESTARTED",
] as const satisfies ProcessFault[];
export type NodeFault = (typeof NODE_FAULTS)[number];

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

/** @param hasKafka whether nodes have links to a Kafka */
export function linkSteps(hasKafka: boolean): readonly LinkStep[] {
  const links: readonly LinkName[] = hasKafka ? [...LINKS, "KAFKA_LINK"] : LINKS;
  return links.flatMap((link) => LINK_FAULTS.map((linkFault) => ({ link, linkFault })));
}

/** Store of a cluster, and the systems that it uses besides. */
export interface ChaosSystems {
  store: Pick<ChaosStore, "faults">;
  /** Whether an etcd keeps the leases. */
  hasEtcd: boolean;
  /** Whether there is a Kafka. */
  hasKafka: boolean;
  /** Whether Kafka carries the bus. */
  carriesBus: boolean;
  /** Systems for which no job waits. */
  beside: readonly BesideStore[];
}

/** Number of times that a run must show each fault. */
export function chaosDemands({
  store,
  hasEtcd,
  hasKafka,
  carriesBus,
  beside,
}: ChaosSystems): Partial<Record<Fault, number>> {
  const links = linkSteps(hasKafka).map(({ link, linkFault }): LinkFault => `${link}_${linkFault}`);
  const systems = [
    ...(hasEtcd ? ETCD_FAULTS : []),
    ...(hasKafka ? kafkaFaults(carriesBus) : []),
    ...beside.flatMap((system) => besideFaults(system)),
  ];
  const all: readonly Fault[] = [...NODE_FAULTS, ...store.faults, ...PEOPLE_FAULTS, ...systems, ...links];
  return Object.fromEntries(all.map((fault) => [fault, 1]));
}
