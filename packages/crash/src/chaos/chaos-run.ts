import { injectChaos } from "../faults/cluster/inject.ts";
import { chaosDemands } from "../faults/cluster/plan.ts";
import { judge } from "../judge/judge.ts";
import { limitPool } from "../load/pool-limit.ts";
import { RecurringLoad } from "../load/recurring/recurring-load.ts";
import { play, type Report, type Telling } from "../play.ts";
import { settle } from "../settle.ts";
import { openCluster } from "../stage/cluster.ts";
import { warmUp } from "../warm-up.ts";

interface ChaosOptions extends Telling {
  /** How long faults are injected at least; every kind comes at least once, however short this is. */
  forMs: number;
}

const NODES = 3;

/**
 * Does to a cluster under load whatever may happen to one, lets everything come to rest, and judges what became of the jobs.
 * @throws {Error} something did not come back or come to rest in time; the message names the folder with the logs
 */
export function chaosRun({ forMs, ...telling }: ChaosOptions): Promise<Report> {
  return play("chaos", telling, async (ground) => {
    const stage = await openCluster({ ...ground, nodes: NODES });
    let recurring: RecurringLoad | null = null;
    try {
      await limitPool(stage);
      await warmUp(stage);
      recurring = new RecurringLoad(stage);
      stage.say("under load");
      await injectChaos(stage, forMs);
      stage.say("no more faults");
      const evidence = await settle(stage, chaosDemands(stage.store.cannotBeFull !== null), recurring);
      stage.say("everything is known");
      return judge(evidence, "chaos");
    } finally {
      recurring?.abandon();
      await stage.close();
    }
  });
}
