import { PAGE_ITEMS_MAX } from "@mainspring/contract/limits";
import { Client } from "@mainspring/sdk";
import { Command, Option } from "commander";
import { Output } from "../text/output.ts";
import { trustAuthorities } from "../trusted-authorities.ts";
import { durationMs, instant, integer } from "./option-values.ts";

export interface ConnectionOptions {
  url?: string;
  /** Time for which a request is retried, in milliseconds. */
  retryFor?: number;
  /** Tenant for which an operator acts. */
  tenant?: string;
  json?: boolean;
}

export interface ListOptions extends ConnectionOptions {
  /** Largest number of items. */
  limit: number;
}

export interface CreatedOptions {
  since?: string;
  until?: string;
}

/**
 * Default of `--retry-for`, in milliseconds: short, so that a mistake in the address shows soon. A script that submits
 * during restarts of the server sets more.
 */
const RETRY_FOR_MS = 3_000;

/** Creates a command that uses a server's HTTP API. */
export function clientCommand(name: string): Command {
  return new Command(name)
    .addOption(
      new Option("--url <url>", "HTTP address of the server (default: http://127.0.0.1:8080)").env("MAINSPRING_URL"),
    )
    .addOption(
      new Option("--retry-for <duration>", "how long to go on while no server answers, as 30s (default: 3s)")
        .env("MAINSPRING_RETRY_FOR")
        .argParser(durationMs),
    )
    .option("--tenant <name>", "tenant for which an operator acts (default: that of the key)")
    .option("--json", "print JSON for programs: one document, of a list one a line");
}

/** Creates a `list` command that ends after --limit items. */
export function listCommand(description: string): Command {
  return clientCommand("list")
    .description(description)
    .option("--limit <count>", "how many at most", integer(1, 100_000), 20);
}

/** Adds the options of a list that limit the times of creation. */
export function withCreated(command: Command): Command {
  return command
    .option("--since <time>", "only those created at or after", instant)
    .option("--until <time>", "only those created before", instant);
}

/**
 * Creates the client of a command. The API key comes from MAINSPRING_API_KEY only, because every user of the machine
 * can read a command line.
 */
export function connect({ url, retryFor = RETRY_FOR_MS, tenant, json }: ConnectionOptions): {
  client: Client;
  output: Output;
} {
  trustAuthorities();
  // The command itself reports an unreachable server, once it gives up.
  const options = { retryForMs: retryFor, warn: () => undefined, ...(tenant !== undefined && { tenant }) };
  return { client: new Client(url === undefined ? options : { ...options, url }), output: new Output(json === true) };
}

/** Size of a page when this number of items is wanted. */
export function pageOf(limit: number): number {
  return Math.min(limit, PAGE_ITEMS_MAX);
}
