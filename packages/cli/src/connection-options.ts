import { Client } from "@mainspring/sdk";
import { Command, Option } from "commander";
import { Output } from "./output.ts";

export interface ConnectionOptions {
  url?: string;
  json?: boolean;
}

/** A command that talks to a server's HTTP api. */
export function clientCommand(name: string): Command {
  return new Command(name)
    .addOption(
      new Option("--url <url>", "HTTP address of the server (default: http://127.0.0.1:8080)").env("MAINSPRING_URL"),
    )
    .option("--json", "print one JSON document, for programs");
}

/** The api key comes from MAINSPRING_API_KEY only: a command line can be read by everybody on the machine. */
export function connect({ url, json }: ConnectionOptions): { client: Client; output: Output } {
  return { client: new Client(url === undefined ? {} : { url }), output: new Output(json === true) };
}
