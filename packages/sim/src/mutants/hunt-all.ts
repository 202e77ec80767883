import { availableParallelism } from "node:os";
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
  const waiting = [...mutants.entries()];
  const hunts: Hunted[] = [];
  const hunter = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const hunted = await hunt(next[1]);
      hunts[next[0]] = hunted;
      say(told(hunted));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, hunter));
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
