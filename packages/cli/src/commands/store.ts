import process from "node:process";
import { Command } from "commander";
import { schemaName } from "../arguments/option-values.ts";
import { counted } from "../text/counted.ts";
import { Output } from "../text/output.ts";

interface Options {
  from?: string;
  json?: boolean;
}

const HOW = `
Stop all servers of the store first. The command moves the tables of the store that MAINSPRING_STORE (or MAINSPRING_DATA_DIR)
names to the schema that MAINSPRING_STORE_SCHEMA names (mainspring), all or nothing, and brings them up to date. Tables of other
programs stay where they are. The command can be run again: it says where the store is.`;

export function storeCommand(): Command {
  return new Command("store")
    .description("the store of a server, while no server runs")
    .addCommand(moveSchemaCommand());
}

function moveSchemaCommand(): Command {
  return new Command("move-schema")
    .description("move the store to another schema of its PostgreSQL")
    .option("--from <schema>", "the schema that it is in (default: where it is found, public as a rule)", schemaName)
    .option("--json", "print JSON for programs")
    .addHelpText("after", HOW)
    .action(moveSchema);
}

async function moveSchema({ from, json }: Options): Promise<void> {
  const { loadConfig, moveStoreSchema } = await import("@mainspring/server");
  const moved = await moveStoreSchema(loadConfig(process.env), from ?? null);
  const said =
    moved.from === null
      ? `The store is in the schema ${moved.to} already; nothing was changed.`
      : `Moved ${counted(moved.tables, "table")} from the schema ${moved.from} to ${moved.to}. Start the servers with the same MAINSPRING_STORE_SCHEMA.`;
  new Output(json === true).print(moved, () => said);
}
