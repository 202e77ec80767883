import { hasSetting, SERVERS, type ServerName, type Settings } from "./servers.ts";

/** An architecture that Mainspring runs by configuration alone. */
export interface Profile {
  about: string;
  servers: readonly ServerName[];
  /** Settings of each node beside those for its servers. */
  settings: Settings;
}

/** All profiles, by their names on the command line. */
export const PROFILES: Readonly<Record<string, Profile>> = {
  a: {
    about: "Redis keeps the truth, all jobs come through Kafka, and one scheduler owns them",
    servers: ["redis-store", "kafka"],
    settings: { MAINSPRING_INGEST: "kafka", MAINSPRING_LEADER: "one", MAINSPRING_EVENTS: "kafka" },
  },
  b: {
    about: "PostgreSQL keeps the truth, beside Redis, etcd, Kafka, ClickHouse and OpenTelemetry",
    servers: ["postgresql", "redis", "etcd", "kafka", "clickhouse", "otlp"],
    settings: { MAINSPRING_KAFKA_TOPICS_BY: "pool", MAINSPRING_EVENTS: "kafka,clickhouse,otlp" },
  },
};

/** Divides the servers of a profile into those that this version can use, and those that it cannot. */
export function usableServers({ servers }: Profile): { usable: ServerName[]; unusable: ServerName[] } {
  const isUsable = (name: ServerName) => hasSetting(SERVERS[name].setting);
  return { usable: servers.filter(isUsable), unusable: servers.filter((name) => !isUsable(name)) };
}
