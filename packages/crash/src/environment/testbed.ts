import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "@mainspring/sdk";
import { wallClockZeroMs } from "../clock.ts";
import type { Users } from "../faults/world.ts";
import type { FaultEvent } from "../history/events.ts";
import { HistoryFile } from "../history/history-file.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { ClusterIngest } from "./kafka-listeners.ts";
import { ProcessGroup } from "./process-group.ts";
import type { Server } from "./server.ts";

/** Processes and folders of a run. */
export interface Testbed extends Users {
  /** Processes that signal stepped jobs, and pause and retry runs of workflows; no fault touches them. */
  signallers: ProcessGroup;
  /** Processes that only submit in transactions of their own; most runs have none, because their clients do so too. */
  applications: ProcessGroup;
  servers: readonly Server[];
  /** Whether clients submit jobs in transactions of their own on the servers' PostgreSQL too. */
  hasApplications: boolean;
  /** Way of jobs through Kafka; null: they go into the store directly. */
  ingest: ClusterIngest | null;
  /** Reads the ids of all executions whose end is outside the store: in ClickHouse, or else in the topic of events; null: nowhere. */
  endsInReplica: (() => Promise<Set<string>>) | null;
  faultFile: string;
  /** See `Evidence`. */
  wallClockZeroMs: number;
  /** Ends every process that is left. */
  close(): Promise<void>;
}

interface TestbedParts {
  folder: string;
  servers: readonly Server[];
  hasApplications: boolean;
  ingest: Testbed["ingest"];
  endsInReplica: Testbed["endsInReplica"];
  workers: ProcessGroup;
  clients: ProcessGroup;
  signallers: ProcessGroup;
  applications: ProcessGroup;
  client: Client;
  random: SeededRandom;
  say(message: string): void;
  /** Ends the services under the servers, once these have ended. */
  closeRest(): Promise<void>;
}

/** Number of slots of a worker. */
export const SLOTS = "40";

/** Parts that every environment has. */
export function testbed({ folder, closeRest, ...context }: TestbedParts): Testbed {
  const { servers, clients, signallers, applications, workers } = context;
  const faultFile = join(folder, "faults.jsonl");
  return {
    ...context,
    history: new HistoryFile<FaultEvent>(faultFile),
    faultFile,
    stopped: new Set(),
    wallClockZeroMs: wallClockZeroMs(),
    async close() {
      for (const members of [clients, signallers, applications, workers]) {
        for (const member of members.members) await members.kill(member);
      }
      await Promise.all(servers.map((server) => server.kill()));
      await closeRest();
    },
  };
}

/** Starts the servers. @throws one of them does not start; then none is left running */
export async function opened<S extends Testbed>(environment: S): Promise<S> {
  for (const server of environment.servers) server.start();
  await Promise.all(environment.servers.map((server) => server.ready())).catch(async (cause: unknown) => {
    await environment.close();
    throw cause;
  });
  return environment;
}

interface ProcessGroupNames {
  /** Name of their files; default: their role. */
  name?: string;
  /** Program of the processes; default: that of the role. */
  program?: string;
}

/** Creates a group of workers or clients. */
export function processGroup(
  role: string,
  folder: string,
  argumentsFor: (historyFile: string, hired: number) => string[],
  {
    name = role,
    program = fileURLToPath(new URL(`../load/${role}-process.ts`, import.meta.url)),
  }: ProcessGroupNames = {},
): ProcessGroup {
  return new ProcessGroup({ role: name, program, folder, argumentsFor });
}
