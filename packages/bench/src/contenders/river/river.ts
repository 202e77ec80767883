import { ForkedWorker } from "../../worker/forked-worker.ts";
import type { Contender } from "../contender.ts";
import { PostgresRig } from "../postgres-rig.ts";
import { RiverClient } from "./river-client.ts";
import { riverProgram } from "./river-program.ts";

const RECOUNT = `SELECT count(*) FILTER (WHERE state = 'completed') AS finished,
  count(*) FILTER (WHERE state <> 'completed' AND scheduled_at <= now()) AS unfinished FROM public.river_job`;

export const river: Contender = {
  name: "river",
  title: "River (Go)",
  settings:
    "MaxWorkers 2000, FetchCooldown 2 ms, FetchPollInterval 20 ms, InsertManyFast; keeps finished jobs for a day; a client process of its own inserts jobs",
  isPeer: true,
  hasCapabilities: false,
  open: async (stage, { connections = 16 } = {}) => {
    const program = await riverProgram();
    const database = await (await stage.postgres()).database();
    const store = storeOf(database.url);
    const client = await RiverClient.open(program, `${store} pool_max_conns=${connections}`);
    const openWorker = () => ForkedWorker.openProgram(program, { store });
    return new PostgresRig({
      database,
      worker: await openWorker(),
      openWorker,
      clientPid: client.pid,
      recount: RECOUNT,
      keepsFinished: true,
      submit: (job) => client.insert([job]),
      submitBatch: (jobs) => client.insert(jobs),
      close: () => client[Symbol.asyncDispose](),
    });
  },
};

/** The URL as a connection string of pgx, whose URLs cannot name the folder of a socket. */
function storeOf(url: string): string {
  const { username, hostname, port, pathname } = new URL(url);
  return `user=${username} host=${decodeURIComponent(hostname)} port=${port} dbname=${pathname.slice(1)}`;
}
