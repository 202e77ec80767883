import { task, Worker } from "@mainspring/sdk";
import type { Browser } from "playwright-core";
import { nowMs, pause } from "../clock.ts";
import { HttpLoad } from "../contenders/mainspring/http-load.ts";
import type { ServerProcess } from "../contenders/mainspring/server-process.ts";
import { cpuUsOf, treeCpuUsOf } from "../meter/process-cpu.ts";
import type { ConsoleCost, ConsolePage } from "./console-measured.ts";
import { type Behaviour, behaviourOf, Replay } from "./replay.ts";
import { type SentRequest, Visit } from "./visit.ts";

const JOBS_PER_SEC = 50;
/** Time until a page has asked for everything once. */
const FIRST_VIEW_MS = 15_000;
/** Time for clients that have come or gone to be in or out of the way. */
const REST_MS = 5_000;

export interface CostOptions {
  browser: Browser;
  server: ServerProcess;
  /** Process of the store, with all of its descendants. */
  storePid: number;
  key: string;
  consoles: number;
  /** Length of the record of a real page, in milliseconds. */
  recordMs: number;
  /** Length of each measurement, in milliseconds. */
  lastsMs: number;
  /** Number of measurements without and with the consoles, by turns. */
  pairs: number;
}

/** Measures the CPU of the server under a small load, without and with open consoles, by turns. */
export async function consoleCost(page: ConsolePage, options: CostOptions): Promise<ConsoleCost> {
  const { server, consoles, recordMs, lastsMs, pairs } = options;
  await using load = await startLoad(options);
  const sent = await recorded(page, options);
  const behaviour = behaviourOf(sent, FIRST_VIEW_MS, recordMs);
  const without: Cpu[] = [];
  const beside: Cpu[] = [];
  let failures = 0;
  for (let pair = 0; pair < pairs; pair++) {
    without.push(await cpuOf(options, lastsMs));
    const replay = new Replay(server.httpUrl, behaviour, consoles);
    beside.push(await cpuOf(options, lastsMs));
    await replay.stop();
    failures += replay.failures;
    if (replay.answers === 0) throw new Error("no request of the consoles was answered");
  }
  load.verify();
  return {
    page,
    consoles,
    jobsPerSec: JOBS_PER_SEC,
    ...perMinute(behaviour),
    withoutPercent: without.map(({ server: percent }) => percent),
    withPercent: beside.map(({ server: percent }) => percent),
    storeWithoutPercent: without.map(({ store }) => store),
    storeWithPercent: beside.map(({ store }) => store),
    failures,
  };
}

function perMinute({ requests, lengthMs }: Behaviour): Pick<ConsoleCost, "requestsPerMin" | "kibPerMin"> {
  const minutes = lengthMs / 60_000;
  const bytes = requests.reduce((sum, request) => sum + request.bytes, 0);
  return { requestsPerMin: requests.length / minutes, kibPerMin: bytes / 1_024 / minutes };
}

/** Requests of a real page in Chromium. */
async function recorded(page: ConsolePage, { browser, server, key, recordMs }: CostOptions): Promise<SentRequest[]> {
  await using visit = await Visit.open(browser, server.httpUrl, key);
  await visit.show(page);
  await visit.hasContent();
  await pause(FIRST_VIEW_MS + recordMs);
  return visit.requests;
}

/** Share of a core, in percent. */
interface Cpu {
  server: number;
  store: number;
}

async function cpuOf({ server, storePid }: CostOptions, lastsMs: number): Promise<Cpu> {
  await pause(REST_MS);
  const [beganMs, beganUs, storeUs] = [nowMs(), cpuUsOf(server.pid), treeCpuUsOf(storePid)];
  await pause(lastsMs);
  const percent = (us: number) => us / (nowMs() - beganMs) / 10;
  return { server: percent(cpuUsOf(server.pid) - beganUs), store: percent(treeCpuUsOf(storePid) - storeUs) };
}

/** Jobs at a steady rate, and a worker in this process that runs them. */
async function startLoad({ server, key }: CostOptions) {
  const http = new HttpLoad(server.httpUrl, 16);
  http.headers["authorization"] = `Bearer ${key}`;
  let ran = 0;
  const noop = task({ name: "noop", run: () => void ran++ });
  const worker = new Worker({ url: await http.grpcAddress(), apiKey: key, tasks: [noop], warn: () => undefined });
  await worker.start();
  const failures: unknown[] = [];
  let n = 0;
  const timer = setInterval(
    () => void http.submit({ n: n++ }).catch((error: unknown) => failures.push(error)),
    1_000 / JOBS_PER_SEC,
  );
  return {
    /** @throws a submit failed, or no job ran */
    verify: () => {
      const [cause = null] = failures;
      if (cause !== null || ran === 0) throw new Error("the load beside the consoles did not run", { cause });
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await worker.stop();
      await http.close();
    },
  };
}
