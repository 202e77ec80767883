import {
  type ChaosBus,
  type ChaosIngest,
  type ChaosProfile,
  openCluster,
  openClusterOn,
} from "../environment/cluster.ts";
import { RedisClusterStore } from "../environment/redis-cluster-store.ts";
import { injectChaos } from "../faults/cluster/inject.ts";
import { chaosDemands } from "../faults/cluster/plan.ts";
import { judge } from "../judge/judge.ts";
import { limitPool } from "../load/pool-limit.ts";
import { RecurringLoad } from "../load/recurring/recurring-load.ts";
import { play, type Report, type Telling } from "../play.ts";
import { settle } from "../settle.ts";
import { warmUp } from "../warm-up.ts";

interface ChaosOptions extends Telling {
  /**
   * Least time of fault injection, in milliseconds; every kind of fault happens at least once, however short this time
   * is.
   */
  forMs: number;
  /** Service that keeps the leases of the nodes. */
  leases: "store" | "etcd";
  bus: ChaosBus;
  /** Way of submitted jobs. */
  ingest: ChaosIngest;
  /** Profile whose systems run, and have faults; null: PostgreSQL, and what the other options name. */
  profile: ChaosProfile | null;
}

const NODES = 3;

/**
 * Injects every kind of fault into a cluster under load, lets everything come to rest, and judges the outcome of the
 * jobs.
 * @throws {Error} something did not recover or come to rest in time; the message names the folder with the logs
 */
export function chaosRun({ forMs, leases, bus, ingest, profile, ...telling }: ChaosOptions): Promise<Report> {
  return play("chaos", telling, async (context) => {
    const options = { ...context, nodes: NODES, leases, bus, ingest, profile };
    const environment =
      profile === "a" ? await openClusterOn(await RedisClusterStore.open(), options) : await openCluster(options);
    let recurring: RecurringLoad | null = null;
    try {
      await limitPool(environment);
      await warmUp(environment);
      environment.signallers.hire();
      recurring = new RecurringLoad(environment);
      environment.say("under load");
      await injectChaos(environment, forMs);
      environment.say("no more faults");
      const { store, etcd, kafka, carriesBus, beside } = environment;
      const systems = {
        ...{ store, hasEtcd: etcd !== null, hasKafka: kafka !== null, carriesBus, beside },
      };
      const evidence = await settle(environment, chaosDemands(systems), recurring);
      environment.say("everything is known");
      return judge(evidence, "chaos");
    } finally {
      recurring?.abandon();
      await environment.close();
    }
  });
}
