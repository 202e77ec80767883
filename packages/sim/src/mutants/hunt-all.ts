import { type Hunted, hunt, record } from "./hunt.ts";
import type { Mutant } from "./mutant.ts";

/**
 * @param isRecorded whether to write down where they were caught
 * @returns whether each was caught, by a seed that finds nothing without it
 */
export async function huntAll(
  mutants: readonly Mutant[],
  isRecorded: boolean,
  say: (text: string) => void,
): Promise<boolean> {
  const hunts: Hunted[] = [];
  for (const mutant of mutants) {
    const hunted = await hunt(mutant);
    hunts.push(hunted);
    say(told(hunted));
  }
  const isAll = hunts.every(({ caught, unmutated }) => caught !== null && unmutated === null);
  if (isAll && isRecorded) record(hunts);
  say(isAll ? `every mutant was caught: ${hunts.length}` : "not every mutant was caught");
  return isAll;
}

function told({ mutant, caught, unmutated }: Hunted): string {
  if (caught === null) return `"${mutant.name}" was NOT CAUGHT: ${mutant.why}`;
  const also = unmutated === null ? "" : `; BUT WITHOUT IT TOO: ${unmutated}`;
  return `"${mutant.name}" was caught at seed ${caught.seed}: ${caught.violation}${also}`;
}
