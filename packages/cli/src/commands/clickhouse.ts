import process from "node:process";
import { PAGE_ITEMS_MAX } from "@mainspring/contract/limits";
import type { ClickHouseAddress } from "@mainspring/server";
import { Command, Option } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { instant } from "../arguments/option-values.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure, isNotFound } from "../failure.ts";
import { counted } from "../text/counted.ts";
import { Output } from "../text/output.ts";

interface MigrateOptions {
  url?: string;
  print?: boolean;
  json?: boolean;
}

interface BackfillOptions extends ConnectionOptions {
  from: string;
  to: string;
  clickhouse?: string;
}

const MIGRATE_HOW = `
The user needs the rights to create tables and views in the database, and to create the database if it does not exist. Files
that were applied are not applied again.`;

const BACKFILL_HOW = `
Reads the final executions that were created in the window from a server, a page at a time, and inserts the events that
they must have had. It can be interrupted and repeated: an event has the same id each time, and events of the servers
win over those of a backfill.`;

export function clickhouseCommand(): Command {
  return new Command("clickhouse")
    .description("the tables in ClickHouse that servers feed with events")
    .addCommand(migrateCommand())
    .addCommand(backfillCommand());
}

function migrateCommand(): Command {
  return new Command("migrate")
    .description("create the tables and views, or bring them up to date")
    .addOption(addressOption("--url <url>"))
    .option("--print", "print the statements instead of running them")
    .option("--json", "print JSON for programs")
    .addHelpText("after", MIGRATE_HOW)
    .action(migrate);
}

function backfillCommand(): Command {
  return clientCommand("backfill")
    .description("insert the events of executions that a server still has")
    .requiredOption("--from <time>", "executions created at or after", instant)
    .requiredOption("--to <time>", "executions created before", instant)
    .addOption(addressOption("--clickhouse <url>"))
    .addHelpText("after", BACKFILL_HOW)
    .action(backfill);
}

function addressOption(flags: string): Option {
  const what = "database in ClickHouse: http://user:password@host:8123/database";
  // The help shows the name of the variable, never its value.
  return new Option(flags, `${what} (env: MAINSPRING_CLICKHOUSE)`);
}

async function migrate({ url, print, json }: MigrateOptions): Promise<void> {
  const { clickHouseStatements, migrateClickHouse } = await import("@mainspring/server");
  if (print === true) {
    process.stdout.write(clickHouseStatements());
    return;
  }
  const address = await addressOf(url, "--url");
  const applied = await migrateClickHouse(address);
  const said =
    applied.length === 0
      ? `The tables of ${address.database} are up to date; nothing was changed.`
      : `Applied ${applied.join(", ")} to ${address.database} at ${address.url}.`;
  new Output(json === true).print({ database: address.database, applied }, () => said);
}

async function backfill({ from, to, clickhouse, ...connection }: BackfillOptions): Promise<void> {
  const { backfillClickHouse } = await import("@mainspring/server");
  if (Date.parse(from) >= Date.parse(to)) throw new Failure("--to must be after --from.", EXIT.usage);
  const address = await addressOf(clickhouse, "--clickhouse");
  const { client, output } = connect(connection);
  const executions = client.listExecutions({ since: from, until: to, limit: PAGE_ITEMS_MAX });
  const detailOf = (id: string) =>
    client.getExecution(id).catch((error: unknown) => {
      if (isNotFound(error)) return null;
      throw error;
    });
  const isShown = connection.json !== true && process.stderr.isTTY;
  const done = await backfillClickHouse(address, { executions, detailOf }, (so) => {
    if (isShown) process.stderr.write(`${counted(so.executions, "execution")}\n`);
  });
  const open = done.open === 0 ? "" : ` ${counted(done.open, "execution")} without an end left out.`;
  output.print(
    done,
    () => `${counted(done.events, "event")} of ${counted(done.executions, "execution")} inserted.${open}`,
  );
}

/** Address from the option, else from MAINSPRING_CLICKHOUSE. Messages never repeat it, because it may contain a password. */
async function addressOf(given: string | undefined, option: string): Promise<ClickHouseAddress> {
  const { CLICKHOUSE_URL, clickHouseAddress } = await import("@mainspring/server");
  const text = given ?? process.env.MAINSPRING_CLICKHOUSE;
  const name = given === undefined ? "MAINSPRING_CLICKHOUSE" : option;
  if (!text) throw new Failure(`Set ${option} or MAINSPRING_CLICKHOUSE to ${CLICKHOUSE_URL}.`, EXIT.usage);
  const address = clickHouseAddress(text);
  if (address === null) throw new Failure(`${name} must be ${CLICKHOUSE_URL}.`, EXIT.usage);
  return address;
}
