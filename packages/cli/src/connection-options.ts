import { Client } from "@mainspring/sdk";
import { Command, Option } from "commander";
import { integer } from "./option-values.ts";
import { Output } from "./output.ts";

export interface ConnectionOptions {
  url?: string;
  json?: boolean;
}

export interface ListOptions extends ConnectionOptions {
  /** How many at most. */
  limit: number;
}

/** How many items a request reads at most. */
const PAGE_MAX = 1_000;

/** A command that talks to a server's HTTP api. */
export function clientCommand(name: string): Command {
  return new Command(name)
    .addOption(
      new Option("--url <url>", "HTTP address of the server (default: http://127.0.0.1:8080)").env("MAINSPRING_URL"),
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
export function connect({ url, json }: ConnectionOptions): { client: Client; output: Output } {
  return { client: new Client(url === undefined ? {} : { url }), output: new Output(json === true) };
}

/** How many items to ask for at once, where so many are wanted. */
export function pageOf(limit: number): number {
  return Math.min(limit, PAGE_MAX);
}
