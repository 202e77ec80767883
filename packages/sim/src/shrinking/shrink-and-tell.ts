import { simulateAndTell } from "../simulate.ts";
import type { SimulationOptions } from "../simulation.ts";
import { shrink } from "./shrink.ts";
import { story } from "./story.ts";

/** @returns whether every invariant held, so that there was nothing to shrink */
export async function shrinkAndTell(options: SimulationOptions, say: (text: string) => void): Promise<boolean> {
  const shrunk = await shrink(options);
  if (shrunk === null) {
    say(`seed ${options.seed}: everything held, so there is nothing to make smaller`);
    return true;
  }
  const { workers, only = {} } = shrunk.options;
  const { verdict, history } = await simulateAndTell(shrunk.options);
  const { faults, jobs, recurring, reliableStore } = only;
  say(
    `seed ${options.seed}, made smaller in ${shrunk.runs} runs: ${Math.round(verdict.simulatedMs / 1_000)} s, ${workers} workers`,
  );
  say(
    `  jobs ${list(jobs)}; recurring ${list(recurring)}; faults ${list(faults)}${reliableStore === true ? "" : "; and those of the store's calls"}`,
  );
  for (const line of story(verdict.violation ?? "", history)) say(line);
  return false;
}

function list(numbers: ReadonlySet<number> | undefined): string {
  if (numbers === undefined) return "all";
  return numbers.size === 0 ? "none" : [...numbers].join(", ");
}
