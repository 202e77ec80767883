import { fork } from "node:child_process";
import { once } from "node:events";
import { task, Worker } from "../src/index.ts";

const gw = fork(new URL("./zz-gw.ts", import.meta.url), process.argv.slice(2));
const [address] = await once(gw, "message");
const noop = task({ name: "noop", run: async (p: { a: number }) => p.a });
const w = new Worker({ url: address as string, tasks: [noop], slots: 100, prefetch: 1000 });
await w.start();
const c0 = process.cpuUsage();
await once(gw, "message");
const c = process.cpuUsage(c0);
console.log(
  "main thread us/job",
  (process.threadCpuUsage().user + process.threadCpuUsage().system) / Number(process.argv[2]),
);
console.log(
  "worker cpu us/job",
  (c.user + c.system) / Number(process.argv[2]),
  "worker cpu us total",
  c.user + c.system,
  "rss",
  process.memoryUsage().rss >> 20,
);
await w.closed;
console.log("closed");
