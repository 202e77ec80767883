import { availableParallelism } from "node:os";
import { type Hunted, hunt, replay } from "./hunt.ts";
import type { Mutant } from "./mutant.ts";
import { record } from "./record.ts";

/**
 * Mode of a hunt. `HUNT`: try seeds until the mutant is caught. `RECORD`: also write the catch into the records.
 * `REPLAY`: try the recorded seed, and if there is none or it no longer catches the mutant, the mutant's test or a few
 * other seeds. `REFRESH`: also write that catch into the records.
 */
export type HuntMode = "HUNT" | "RECORD" | "REPLAY" | "REFRESH";

const HUNTS: Record<HuntMode, (mutant: Mutant) => Promise<Hunted>> = {
  HUNT: (mutant) => hunt(mutant),
  RECORD: (mutant) => hunt(mutant, true),
  REPLAY: replay,
  REFRESH: replay,
};

/** @returns whether each mutant was caught, by a seed that finds nothing without the mutant */
export async function huntAll(
  mutants: readonly Mutant[],
  mode: HuntMode,
  say: (text: string) => void,
): Promise<boolean> {
  const waiting = [...mutants];
  const hunts: Hunted[] = [];
  const hunter = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const hunted = await HUNTS[mode](next);
      hunts.push(hunted);
      if (mode === "RECORD" || mode === "REFRESH") keep(hunted);
      say(told(hunted));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, hunter));
  const isAll = hunts.every(({ caught, objection }) => caught !== null && objection === null);
  say(isAll ? `every mutant was caught: ${hunts.length}` : "not every mutant was caught");
  return isAll;
}

function keep({ mutant, caught, objection }: Hunted): void {
  if (caught === null || typeof caught === "string" || caught.checker === null || objection !== null) return;
  record(mutant.name, { seed: caught.seed, untilSec: caught.untilSec, checker: caught.checker });
}

function told({ mutant, caught, objection }: Hunted): string {
  if (caught === null) return `"${mutant.name}" was NOT CAUGHT: ${mutant.why}`;
  if (typeof caught === "string") return `"${mutant.name}" was caught by the test "${caught}" of ${mutant.test?.file}`;
  const but = objection === null ? "" : `; BUT ${objection}`;
  return `"${mutant.name}" was caught at seed ${caught.seed} after ${Math.round(caught.afterMs / 1_000)} s, by ${caught.checker}: ${caught.violation}${but}`;
}
