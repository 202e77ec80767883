import { fork } from "node:child_process";
import { once } from "node:events";
import { grpcLink } from "../src/grpc-link.ts";
import { targetOf } from "../src/grpc-target.ts";
import { task } from "../src/index.ts";
import { systemRuntime } from "../src/system-runtime.ts";
import { createWorkerCore } from "../src/worker-core.ts";

const gw = fork(new URL("./zz-gw.ts", import.meta.url), process.argv.slice(2));
const [address] = await once(gw, "message");
const noop = task({ name: "noop", run: async (p: { a: number }) => p.a });
const runtime = systemRuntime(true);
const w = createWorkerCore(
  {
    workerId: "w",
    name: "n",
    pool: "default",
    capabilities: [],
    tasks: [noop],
    slots: 100,
    prefetch: 1000,
    runtime,
    warn: console.error,
  },
  grpcLink(targetOf(address), null, runtime),
);
await w.start();
const c0 = process.cpuUsage();
const t0 = process.threadCpuUsage();
await once(gw, "message");
const c = process.cpuUsage(c0);
const t = process.threadCpuUsage(t0);
console.log(
  "in-process: main thread us/job",
  (t.user + t.system) / Number(process.argv[2]),
  "process",
  (c.user + c.system) / Number(process.argv[2]),
  "rss",
  process.memoryUsage().rss >> 20,
);
await w.closed;
console.log("closed");
process.exit(0);
