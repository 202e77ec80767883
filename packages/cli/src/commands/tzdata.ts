import type { TimeZoneData } from "@mainspring/sdk";
import { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { facts } from "../text/output.ts";

/** Commands for the time zone data by which recurring jobs are planned. */
export function tzdataCommand(): Command {
  return new Command("tzdata")
    .description("look at the time zone data that jobs are planned by, and go back to an older version")
    .addCommand(statusCommand())
    .addCommand(useCommand());
}

function statusCommand(): Command {
  return clientCommand("status")
    .description("show which version is in force, which were before, and which are available")
    .action(async (options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const data = await client.timeZoneData();
      output.print(data, () => dataText(data));
    });
}

function useCommand(): Command {
  return clientCommand("use")
    .description("have all servers plan by this version, at the same moment, some seconds from now")
    .argument("<version>", "as 2026f; `tzdata status` shows which are available")
    .action(async (version: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const data = await client.useTimeZoneData(version);
      output.print(data, () => dataText(data));
    });
}

function dataText({ version, releasedOn, changeovers, available }: TimeZoneData): string {
  return facts([
    ["in force", releasedOn === null ? version : `${version}, released on ${releasedOn}`],
    [
      "changeovers",
      changeovers.map((one) => `${one.version} since ${one.since ?? "the beginning"}`).join("; ") || "none",
    ],
    ["available", available.join(", ")],
  ]);
}
