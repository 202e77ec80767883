import { Client } from "@mainspring/sdk";
import { monotonicMs, sleep } from "../clock.ts";
import type { ClientEvent } from "../history/events.ts";
import { HistoryFile } from "../history/history-file.ts";
import { SeededRandom } from "../seeded-random.ts";
import { inTurn } from "./in-turn.ts";
import { KINDS, type Kind } from "./kinds.ts";
import { type Order, randomOrder } from "./orders.ts";
import { untilAnswered } from "./until-answered.ts";

/**
 * Submits jobs at a steady rate, whatever the outcome of earlier ones: `steady-process.ts <urls> <history file> <seed>
 * <jobs a second>`. Any message ends it.
 */
const [list = "", path = "", seed = "", rate = ""] = process.argv.slice(2);
const everyMs = 1_000 / Number(rate);
const SLOW = 0.02;

const urls = list.split(",");
const client = new Client({ url: urls[0] as string, fetch: inTurn(urls), retries: 1, timeoutMs: 5_000 });
const history = new HistoryFile<ClientEvent>(path);
const random = new SeededRandom(Number(seed));
const [quick, slow] = ["quick", "slow"].map((name) => KINDS.find((kind) => kind.name === name) as Kind);
let leaves = false;
process.on("message", () => {
  leaves = true;
});
process.on("disconnect", () => process.exit(1));

const asked = new Set<Promise<void>>();
const beganMs = monotonicMs();
for (let count = 0; ; count++) {
  if (leaves) break;
  const order = randomOrder(`${process.pid}-${count}`, random, random.chance(SLOW) ? slow : quick);
  const answered: Promise<void> = submit(order).finally(() => asked.delete(answered));
  asked.add(answered);
  await sleep(Math.max(0, beganMs + count * everyMs - monotonicMs()));
}
await Promise.all(asked);
process.exit(0);

async function submit({ at, key, kind, expected, request }: Order): Promise<void> {
  history.write({ event: "INTENDED", at, key, kind, idempotent: true, expected });
  try {
    const { executionId, jobId } = await untilAnswered(() => client.submit(request, { idempotencyKey: key }));
    if (executionId == null) throw new Error("the answer names no execution");
    history.write({ event: "ANSWERED", at: monotonicMs(), key, executionId, jobId, deduplicated: false });
  } catch (error) {
    history.write({ event: "REFUSED", at: monotonicMs(), key, message: (error as Error).message });
  }
}
