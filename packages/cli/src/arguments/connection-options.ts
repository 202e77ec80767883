import { PAGE_ITEMS_MAX } from "@mainspring/contract/limits";
import { Client } from "@mainspring/sdk";
import { Command, Option } from "commander";
import { durationMs, integer } from "./option-values.ts";
import { Output } from "./output.ts";

export interface ConnectionOptions {
  url?: string;
  /** Milliseconds. */
  retryFor?: number;
  json?: boolean;
}

export interface ListOptions extends ConnectionOptions {
  /** How many at most. */
  limit: number;
}

/** Default of `--retry-for`: a mistake in the address shows soon. A script that submits over restarts of the server sets more. */
const RETRY_FOR_MS = 3_000;

/** A command that talks to a server's HTTP api. */
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
    .option("--json", "print JSON for programs: one document, of a list one a line");
}

/** A `list` that ends after --limit items. */
export function listCommand(description: string): Command {
  return clientCommand("list")
    .description(description)
    .option("--limit <count>", "how many at most", integer(1, 100_000), 20);
}

/** The api key comes from MAINSPRING_API_KEY only: a command line can be read by everybody on the machine. */
export function connect({ url, retryFor = RETRY_FOR_MS, json }: ConnectionOptions): { client: Client; output: Output } {
  // The command says by itself that no server answers, once it gives up.
  const options = { retryForMs: retryFor, warn: () => undefined };
  return { client: new Client(url === undefined ? options : { ...options, url }), output: new Output(json === true) };
}

/** How many items to ask for at once, where so many are wanted. */
export function pageOf(limit: number): number {
  return Math.min(limit, PAGE_ITEMS_MAX);
}
