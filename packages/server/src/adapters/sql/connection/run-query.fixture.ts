import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemRuntime } from "../../system/system-runtime.ts";
import { testConnections } from "../testing/databases.ts";
import type { Connection } from "./connections.ts";

/**
 * The queries run in a thread of their own, because the test runner tracks everything asynchronous in its own thread
 * and so keeps it in memory.
 */
const { connection } = workerData as { connection: Connection };
const port = parentPort as MessagePort;
const ROUNDS = 20;
const ASKED = 100;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (how?: { type: "minor" }) => void;
const db = testConnections(connection, systemRuntime(), "me");

async function ask(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    for (let n = 0; n < ASKED; n++) await db.run("submit", { name: "echo", text: "SELECT $1::text", values: ["x"] });
    collect({ type: "minor" });
  }
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === "old_space")?.space_used_size ?? 0;
}

// The first call compiles the code and opens the connection.
await ask();
collect();
await ask();
const before = oldBytes();
await ask();
port.postMessage((oldBytes() - before) / (ROUNDS * ASKED));
await db.close();
