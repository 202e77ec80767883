import { injectFaults } from "./faults/inject.ts";
import { CRASH_DEMANDS } from "./faults/plan.ts";
import { judge, type Verdict } from "./judge/judge.ts";
import { limitPool } from "./load/pool-limit.ts";
import { RecurringLoad } from "./load/recurring/recurring-load.ts";
import { play, type Report, type Telling } from "./play.ts";
import { settle } from "./settle.ts";
import { openStage, type Stage, type StoreKind } from "./stage/stage.ts";
import { warmUp } from "./warm-up.ts";

interface CrashOptions extends Telling {
  store: StoreKind;
  /** How long faults are injected at least; every kind comes at least once, however short this is. */
  forMs: number;
}

/**
 * Kills and stops the processes of a whole Mainspring under load, lets everything come to rest, and judges what became
 * of the jobs.
 * @throws {Error} something did not come back or come to rest in time; the message names the folder with the logs
 */
export function crashRun({ store, forMs, ...telling }: CrashOptions): Promise<Report> {
  return play(`crash-${store}`, telling, async (ground) => runOn(await openStage({ kind: store, ...ground }), forMs));
}

async function runOn(stage: Stage, forMs: number): Promise<Verdict> {
  const { say } = stage;
  let recurring: RecurringLoad | null = null;
  try {
    await limitPool(stage);
    await warmUp(stage);
    recurring = new RecurringLoad(stage);
    say("under load");
    await injectFaults(stage, forMs);
    say("no more faults");
    const evidence = await settle(stage, CRASH_DEMANDS, recurring);
    say("everything is known");
    return judge(evidence, "crash");
  } finally {
    recurring?.abandon();
    await stage.close();
  }
}
