import { availableParallelism } from "node:os";
import { type Hunted, hunt, prove, replay } from "./hunt.ts";
import type { Mutant } from "./mutant.ts";
import { record } from "./record.ts";

/**
 * `HUNT`: until it is caught. `RECORD`: and writes down where. `REPLAY`: where it was recorded; where that is so no
 * more, within a few seeds. `REFRESH`: and writes that down. `PROVE`: where it was recorded and nowhere else. A mutant without a
 * record is tried by its test in the last three; a mutant that has neither fails `PROVE`.
 */
export type HuntMode = "HUNT" | "RECORD" | "REPLAY" | "REFRESH" | "PROVE";

const HUNTS: Record<HuntMode, (mutant: Mutant) => Promise<Hunted | null>> = {
  HUNT: (mutant) => hunt(mutant),
  RECORD: (mutant) => hunt(mutant, true),
  REPLAY: replay,
  REFRESH: replay,
  PROVE: prove,
};

/** @returns whether each was caught, by a seed that finds nothing without it */
export async function huntAll(
  mutants: readonly Mutant[],
  mode: HuntMode,
  say: (text: string) => void,
): Promise<boolean> {
  const waiting = [...mutants];
  const hunts: Hunted[] = [];
  let isUnproven = false;
  const hunter = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const hunted = await HUNTS[mode](next);
      if (hunted === null) {
        say(`"${next.name}" has neither a record nor a test: --mutants --record hunts it`);
        isUnproven = true;
        continue;
      }
      hunts.push(hunted);
      if (mode === "RECORD" || mode === "REFRESH") keep(hunted);
      say(told(hunted));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, hunter));
  const isAll = !isUnproven && hunts.every(({ caught, objection }) => caught !== null && objection === null);
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
