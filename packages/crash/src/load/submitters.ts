import { dirname } from "node:path";
import { Client } from "@mainspring/sdk";
import type { ClientEvent } from "../history/events.ts";
import { HistoryFile } from "../history/history-file.ts";
import { SeededRandom } from "../seeded-random.ts";
import { inTurn } from "./in-turn.ts";

/** Means of one submitter. */
export interface SubmitterParts {
  client: Client;
  history: HistoryFile<ClientEvent>;
  /** Folder of the run. */
  folder: string;
  random: SeededRandom;
  /** Beginning of the idempotency keys of the submitter's jobs, which no other submitter has. */
  keyPrefix: string;
  /** URL of the PostgreSQL that applications share with the servers; null: there is none. */
  store: string | null;
  /** Whether all jobs succeed at once, because the judge demands that everything runs once. */
  isEasy: boolean;
}

/** Submits jobs, one after the other, and records its requests and their answers. */
interface Submitter {
  /** @returns promise that resolves when the submitter was told to leave and has done the rest of its work */
  work(leaving: AbortSignal): Promise<void>;
}

type SubmitterClass = new (parts: SubmitterParts) => Submitter;

/**
 * Runs submitters as the program of a process: `<program> <urls> <history file> <seed> [URL of the store] [easy]`. Any
 * message tells them to leave. The process ends when all have left.
 */
export async function runSubmitters(...kinds: readonly [Each: SubmitterClass, count: number][]): Promise<never> {
  const leaving = new AbortController();
  process.on("message", () => leaving.abort());
  process.on("disconnect", () => process.exit(1));
  const submitters = kinds.flatMap(([Each, count]) => submittersOf(process.argv.slice(2), Each, count));
  await Promise.all(submitters.map((submitter) => submitter.work(leaving.signal)));
  process.exit(0);
}

/**
 * Creates submitters that share a client and a history. Each has random numbers of its own, which follow from the seed.
 * @param args URLs of servers, separated by commas; path of the history file; seed; URL of the store, if applications share it; `easy`
 *   for jobs that succeed at once
 */
export function submittersOf<S>(
  [list = "", path = "", seed = "", store, ease]: readonly string[],
  Each: new (parts: SubmitterParts) => S,
  count: number,
): S[] {
  const urls = list.split(",");
  const client = new Client({ url: urls[0] as string, fetch: inTurn(urls), retries: 1, timeoutMs: 10_000 });
  const history = new HistoryFile<ClientEvent>(path);
  return Array.from({ length: count }, (_, index) => {
    const random = new SeededRandom(Number(seed) * 1_000 + index);
    const keyPrefix = `${process.pid}-${seed}-${index}`;
    return new Each({
      client,
      history,
      folder: dirname(path),
      random,
      keyPrefix,
      store: store ?? null,
      isEasy: ease === "easy",
    });
  });
}
