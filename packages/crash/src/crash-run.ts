import { type Environment, openEnvironment, type StoreKind } from "./environment/environment.ts";
import { injectFaults } from "./faults/inject.ts";
import { CRASH_DEMANDS } from "./faults/plan.ts";
import { judge, type Verdict } from "./judge/judge.ts";
import { limitPool } from "./load/pool-limit.ts";
import { RecurringLoad } from "./load/recurring/recurring-load.ts";
import { play, type Report, type Telling } from "./play.ts";
import { settle } from "./settle.ts";
import { warmUp } from "./warm-up.ts";

interface CrashOptions extends Telling {
  store: StoreKind;
  /**
   * Least time of fault injection, in milliseconds; every kind of fault happens at least once, however short this time
   * is.
   */
  forMs: number;
}

/**
 * Kills and stops the processes of a whole Mainspring under load, lets everything come to rest, and judges the outcome
 * of the jobs.
 * @throws {Error} something did not recover or come to rest in time; the message names the folder with the logs
 */
export function crashRun({ store, forMs, ...telling }: CrashOptions): Promise<Report> {
  return play(`crash-${store}`, telling, async (context) =>
    runOn(await openEnvironment({ kind: store, ...context }), forMs),
  );
}

async function runOn(environment: Environment, forMs: number): Promise<Verdict> {
  const { say } = environment;
  let recurring: RecurringLoad | null = null;
  try {
    await limitPool(environment);
    await warmUp(environment);
    environment.signallers.hire();
    recurring = new RecurringLoad(environment);
    say("under load");
    await injectFaults(environment, forMs);
    say("no more faults");
    const evidence = await settle(environment, CRASH_DEMANDS, recurring);
    say("everything is known");
    return judge(evidence, "crash");
  } finally {
    recurring?.abandon();
    await environment.close();
  }
}
