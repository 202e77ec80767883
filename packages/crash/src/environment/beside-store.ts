import { clickHouseAddress, migrateClickHouse } from "@mainspring/server";
import { hasSetting } from "../../../../tools/profile/servers.ts";
import type { TestChild } from "../../../../tools/services/python-server.ts";
import { startClickHouse } from "../../../../tools/services/start-clickhouse.ts";
import { startOtlpReceiver } from "../../../../tools/services/start-otlp-receiver.ts";
import { startRedis } from "../../../../tools/services/start-redis.ts";
import { Proxy } from "./proxy/proxy.ts";

/** A system for which no job waits, and the link of all nodes to it. */
export interface BesideStore {
  name: "CLICKHOUSE" | "OTLP" | "REDIS";
  link: Proxy;
  /** Settings of each node. */
  settings: Record<string, string>;
  /** Process of the system; `pid` is 0 if it is not known. */
  child: Pick<TestChild, "pid" | "kill" | "restart" | "freeze" | "resume">;
  /** Empties the system; null: its data are the replica, which must keep all. */
  flush: (() => Promise<void>) | null;
  stop(): Promise<void>;
}

/** Systems of profile B beside PostgreSQL, etcd and the bus, and the replica. */
export interface BesideStores {
  systems: readonly BesideStore[];
  /** Settings of each node. */
  settings: Record<string, string>;
  /** Ids of executions whose end is in ClickHouse. */
  endsInReplica(): Promise<Set<string>>;
  stop(): Promise<void>;
}

const ENDS = "('JobCompleted', 'JobCancelled', 'JobSkipped', 'JobDeadLettered')";

/** Starts the systems that this version can use, with a proxy on the way to each. */
export async function startBesideStores(): Promise<BesideStores> {
  const engine = await startClickHouse();
  const address = clickHouseAddress(`${engine.url}/mainspring`);
  if (address === null) throw new Error(`${engine.url} is no address of ClickHouse`);
  await migrateClickHouse(address);
  const receiver = await startOtlpReceiver();
  const systems: BesideStore[] = [
    await behindProxy("CLICKHOUSE", engine.url, {
      ...{ child: engine.child, flush: null, stop: engine.stop },
      settingsAt: (url) => ({ MAINSPRING_CLICKHOUSE: `${url}/mainspring` }),
    }),
    await behindProxy("OTLP", receiver.url, {
      ...{ child: receiver.child, flush: null, stop: receiver.stop },
      settingsAt: (url) => ({ MAINSPRING_OTLP: url }),
    }),
  ];
  if (hasSetting("MAINSPRING_REDIS")) {
    const redis = await startRedis();
    systems.push(
      await behindProxy("REDIS", redis.url, {
        ...{ child: redis, stop: redis.stop },
        flush: async () => void (await redis.ask("FLUSHALL")),
        settingsAt: (url) => ({ MAINSPRING_REDIS: url }),
      }),
    );
  }
  return {
    systems,
    settings: Object.assign(
      { MAINSPRING_EVENTS: "kafka,clickhouse,otlp" },
      ...systems.map(({ settings }) => settings),
    ) as Record<string, string>,
    async endsInReplica() {
      const body = `SELECT DISTINCT splitByChar('/', id)[1] FROM events WHERE kind IN ${ENDS}`;
      const answer = await fetch(`${engine.url}/?database=mainspring`, { method: "POST", body });
      return new Set((await answer.text()).trim().split("\n"));
    },
    async stop() {
      await Promise.all(systems.map(({ link, stop }) => Promise.all([link.close(), stop()])));
    },
  };
}

interface Behind extends Pick<BesideStore, "child" | "flush" | "stop"> {
  settingsAt(url: string): Record<string, string>;
}

async function behindProxy(
  name: BesideStore["name"],
  url: string,
  { settingsAt, ...system }: Behind,
): Promise<BesideStore> {
  const { protocol, port } = new URL(url);
  const link = new Proxy({ host: "127.0.0.1", port: Number(port) });
  return { name, link, settings: settingsAt(`${protocol}//${await link.listen()}`), ...system };
}
