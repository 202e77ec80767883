import { dirname } from "node:path";
import { Worker } from "@mainspring/sdk";
import type { WorkerEvent } from "../history/events.ts";
import { HistoryFile } from "../history/history-file.ts";
import { tasks } from "./tasks.ts";

/** A worker in a process of its own: `worker-process.ts <grpc addresses> <history file> <slots> <prefetch> [name]`. */
const [url = "", path = "", slots = "", prefetch = "", name] = process.argv.slice(2);

const history = new HistoryFile<WorkerEvent>(path);
const worker = new Worker({
  url,
  slots: Number(slots),
  prefetch: Number(prefetch),
  tasks: tasks({ history, folder: dirname(path) }),
  ...(name && { name }),
});
// The parent process is gone.
process.on("disconnect", () => process.exit(1));
await worker.run({ timeoutMs: 60_000 });
process.exit(0);
