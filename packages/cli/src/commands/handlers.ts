import { Command } from "commander";
import { connect, type ListOptions, listCommand } from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { handlersText } from "../text/handler-text.ts";

interface HandlersOptions extends ListOptions {
  pool?: string;
  handler?: string;
}

export function handlersCommand(): Command {
  return new Command("handlers").description("look at handlers: their policies, and who offers them").addCommand(
    listCommand("list the handlers that workers offer or tasks have declared policies for")
      .option("--pool <name>", "only handlers of this pool")
      .option("--handler <name>", "only handlers of this name")
      .action(async ({ pool, handler, ...options }: HandlersOptions) => {
        const { client, output } = connect(options);
        await output.list(client.handlers.list(given({ pool, handler })), options.limit, handlersText);
      }),
  );
}
