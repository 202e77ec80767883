import { Client } from "@mainspring/sdk";
import type { ClientEvent } from "../history/events.ts";
import { HistoryFile } from "../history/history-file.ts";
import { SeededRandom } from "../seeded-random.ts";
import { inTurn } from "./in-turn.ts";
import { Signaller } from "./stepped/signaller.ts";

/**
 * Signallers in a process of their own: `signaller-process.ts <urls> <history file> <seed>`. At any message they submit no
 * more jobs, and send the signals that are left at once; the process ends when their jobs are final.
 */
const [list = "", path = "", seed = ""] = process.argv.slice(2);
/** Number of stepped jobs at a time. Most of them sleep or wait for signals, and have no slot. */
const SIGNALLERS = 30;

const urls = list.split(",");
const client = new Client({ url: urls[0] as string, fetch: inTurn(urls), retries: 1, timeoutMs: 10_000 });
const history = new HistoryFile<ClientEvent>(path);
const leaving = new AbortController();
process.on("message", () => leaving.abort());
process.on("disconnect", () => process.exit(1));

const signallers = Array.from({ length: SIGNALLERS }, (_, index) => {
  const random = new SeededRandom(Number(seed) * 1_000 + index);
  return new Signaller({ client, history, random, keyPrefix: `${process.pid}-${seed}-${index}` });
});
await Promise.all(signallers.map((signaller) => signaller.work(leaving.signal)));
process.exit(0);
