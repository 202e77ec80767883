import { Client } from "@mainspring/sdk";
import type { ClientEvent } from "../history/events.ts";
import { HistoryFile } from "../history/history-file.ts";
import { SeededRandom } from "../seeded-random.ts";
import { Customer } from "./customer.ts";
import { inTurn } from "./in-turn.ts";

/** Customers in a process of their own: `client-process.ts <urls> <history file> <seed>`. Any message ends them. */
const [list = "", path = "", seed = ""] = process.argv.slice(2);
const CUSTOMERS = 8;

const urls = list.split(",");
const client = new Client({ url: urls[0] as string, fetch: inTurn(urls), retries: 1, timeoutMs: 10_000 });
const history = new HistoryFile<ClientEvent>(path);
const leaving = new AbortController();
process.on("message", () => leaving.abort());
process.on("disconnect", () => process.exit(1));

const customers = Array.from({ length: CUSTOMERS }, (_, index) => {
  const random = new SeededRandom(Number(seed) * 1_000 + index);
  return new Customer({ client, history, random, keyPrefix: `${process.pid}-${seed}-${index}` });
});
await Promise.all(customers.map((customer) => customer.shop(leaving.signal)));
process.exit(0);
