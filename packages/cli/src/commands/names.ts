import process from "node:process";
import { Client } from "@mainspring/sdk";
import { Argument, Command } from "commander";
import { NAME_KINDS, type NameKind } from "../completion/places.ts";

/** Largest number of names of one kind that are offered. */
const NAMES_MAX = 200;
/** Time limit in milliseconds, because the shell waits for the names after the user has pressed Tab. */
const TIMEOUT_MS = 2_000;
/** Names that are safe to offer. Shells expand completed words, so a name with other characters could run a command. */
const SAFE = /^[A-Za-z0-9_.:@%+,/][A-Za-z0-9_.:@%+,/=-]*$/;

export function namesCommand(): Command {
  return new Command("names")
    .description("print names for a shell to complete, one a line; nothing where no server answers")
    .addArgument(new Argument("<kind>", "what they name").choices(NAME_KINDS))
    .action(async (kind: NameKind) => {
      const client = new Client({ retryForMs: 0, timeoutMs: TIMEOUT_MS, warn: () => undefined });
      const names = await (kind === "pools" ? poolNames(client) : jobNames(client)).catch(() => []);
      const safe = [...new Set(names)].filter((name) => SAFE.test(name)).slice(0, NAMES_MAX);
      process.stdout.write(safe.map((name) => `${name}\n`).join(""));
    });
}

async function poolNames(client: Client): Promise<string[]> {
  return (await firstOf(client.pools.list())).map(({ name }) => name);
}

/** Names of jobs, those of recurring jobs first, because most one-time jobs have no name. */
async function jobNames(client: Client): Promise<string[]> {
  const types = ["CRON", "INTERVAL", "ONCE"] as const;
  const jobs = await Promise.all(types.map((type) => firstOf(client.listJobs({ type, limit: NAMES_MAX }))));
  return jobs.flat().flatMap(({ name, state }) => (name === null || state === "DELETED" ? [] : [name]));
}

async function firstOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const first: T[] = [];
  for await (const item of items) if (first.push(item) >= NAMES_MAX) break;
  return first;
}
