import type { Dice } from "../../dice.ts";
import { type Fault, LINKS, type LinkFault, type LinkName, type ProcessFault } from "../../history/events.ts";
import { WEATHERS, type WeatherKind } from "../../stage/proxy/weather.ts";

/** One after the other to the nodes and their store; beside it to the links, and to workers and clients. */
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
export type PeopleFault = (typeof PEOPLE_FAULTS)[number];

export interface LinkStep {
  link: LinkName;
  weather: WeatherKind;
}

const LINK_STEPS: readonly LinkStep[] = LINKS.flatMap((link) => WEATHERS.map((weather) => ({ link, weather })));

/** How long nothing is done before the next step. */
const GAP_MS = { least: 200, most: 1_500 };

/** Every fault of a list in an order that the seed decides, again and again. */
export function* rounds<Step>(dice: Dice, steps: readonly Step[]): Generator<{ gapMs: number; step: Step }, never> {
  for (;;) {
    for (const step of dice.shuffle(steps)) yield { gapMs: dice.between(GAP_MS.least, GAP_MS.most), step };
  }
}

export function linkSteps(): readonly LinkStep[] {
  return LINK_STEPS;
}

/** Number of times that a run must show each fault. @param cannotBeFull the store, on this machine */
export function chaosDemands(cannotBeFull: boolean): Partial<Record<Fault, number>> {
  const links = LINK_STEPS.map(({ link, weather }): LinkFault => `${link}_${weather}`);
  const all: readonly Fault[] = [...SYSTEM_FAULTS, ...PEOPLE_FAULTS, ...links];
  const demands = Object.fromEntries(all.map((fault) => [fault, 1])) as Partial<Record<Fault, number>>;
  if (cannotBeFull) delete demands.STORE_FULL;
  return demands;
}
