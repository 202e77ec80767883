import { openCluster } from "../environment/cluster.ts";
import { judge } from "../judge/judge.ts";
import { limitPool } from "../load/pool-limit.ts";
import { RecurringLoad } from "../load/recurring/recurring-load.ts";
import { play, type Report, type Telling } from "../play.ts";
import { settle } from "../settle.ts";
import { warmUp } from "../warm-up.ts";
import { type Sample, takeSamples } from "./samples.ts";
import { growths } from "./trends.ts";

interface SoakOptions extends Telling {
  forMs: number;
}

const NODES = 3;
const SAMPLES = 60;
const SAMPLE_EVERY_MIN_MS = 5_000;

/**
 * Runs a cluster for a long time under a usual load (jobs of all kinds, recurring ones, cancels, limits), without
 * faults, and judges the outcome of the jobs and the growth of memory and tables.
 * @throws {Error} something did not come to rest in time; the message names the folder with the logs
 */
export function soakRun({ forMs, ...telling }: SoakOptions): Promise<Report> {
  return play("soak", telling, async (context) => {
    const environment = await openCluster({ ...context, nodes: NODES });
    let recurring: RecurringLoad | null = null;
    try {
      await limitPool(environment);
      await warmUp(environment);
      environment.signallers.hire();
      recurring = new RecurringLoad(environment);
      environment.say("under load");
      const samples = await takeSamples(environment, forMs, Math.max(SAMPLE_EVERY_MIN_MS, forMs / SAMPLES));
      const { violations, figures } = judge(await settle(environment, {}, recurring), "soak");
      return { violations: [...violations, ...growths(samples)], figures: { ...figures, ...sums(samples) } };
    } finally {
      recurring?.abandon();
      await environment.close();
    }
  });
}

/** Published figures of a run. */
function sums(samples: readonly Sample[]): Record<string, number> {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return {};
  const executions = last.executions - first.executions;
  const perExecution = (mib: number) => Math.round((mib * 1024 ** 2) / Math.max(1, executions));
  return {
    soakSeconds: Math.round(last.atSec),
    executionsWritten: executions,
    nodeMibAtFirst: Math.round(first.nodeMib),
    nodeMibAtMost: Math.round(Math.max(...samples.map(({ nodeMib }) => nodeMib))),
    nodeMibAtLast: Math.round(last.nodeMib),
    historyBytesOfExecution: perExecution(last.historyMib - first.historyMib),
    otherTablesMibAtLast: Math.round(last.otherMib),
    walBytesOfExecution: perExecution(last.walMib - first.walMib),
  };
}
