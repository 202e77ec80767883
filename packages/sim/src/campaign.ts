import { neverHappened } from "./sightings.ts";
import { type SimulationOptions, simulate, type Verdict } from "./simulate.ts";

/**
 * Runs all, one after the other.
 * @returns whether everything held, and, in a campaign that is long enough, everything happened that has to
 */
export async function campaign(runs: readonly SimulationOptions[], say: (text: string) => void): Promise<boolean> {
  const seen = new Set<string>();
  let hours = 0;
  let failed = 0;
  for (const options of runs) {
    const began = process.hrtime.bigint();
    const verdict = await simulate(options);
    say(told(verdict, Number(process.hrtime.bigint() - began) / 1e9));
    for (const what of Object.keys(verdict.figures)) seen.add(what);
    hours += options.hours;
    if (verdict.violation !== null) failed++;
  }
  const never = neverHappened(seen, hours);
  for (const what of never) say(`NEVER HAPPENED: ${what}`);
  say(failed === 0 ? "everything held" : `${failed} failed`);
  return failed === 0 && never.length === 0;
}

function told({ seed, violation, traceHash, simulatedMs, events, figures }: Verdict, tookSec: number): string {
  const speed = Math.round(simulatedMs / 1_000 / tookSec);
  return `seed ${seed}: ${violation ?? "everything held"}
  trace-hash ${traceHash}
  ${events} events, ${speed} simulated seconds a second, ${JSON.stringify(figures)}`;
}
