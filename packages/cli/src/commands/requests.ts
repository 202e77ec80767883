import { REQUEST_SOURCES, REQUEST_STATES } from "@mainspring/contract/enums";
import type { JobRequestSummary, RequestState } from "@mainspring/sdk";
import { Command } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
  pageOf,
} from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { choiceOption, wholeId } from "../arguments/option-values.ts";
import { requestsText, requestText } from "../text/request-text.ts";

interface RequestListOptions extends ListOptions {
  source?: JobRequestSummary["source"];
  state?: RequestState;
}

export function requestsCommand(): Command {
  return new Command("requests")
    .description(
      "look at what applications submit in their own transactions or through Kafka, and why some of it was refused",
    )
    .addCommand(
      listCommand("list requests, the newest first")
        .addOption(choiceOption("--state <state>", "only requests in this state", REQUEST_STATES))
        .addOption(choiceOption("--source <source>", "sql, or kafka for records that were refused", REQUEST_SOURCES))
        .action(
          async ({
            source,
            state = source === "KAFKA" ? "REFUSED" : undefined,
            limit,
            ...options
          }: RequestListOptions) => {
            const { client, output } = connect(options);
            const filter = given({ source, state, limit: pageOf(limit) });
            await output.list(client.requests.list(filter), limit, requestsText);
          },
        ),
    )
    .addCommand(
      clientCommand("show")
        .description("show a request, with the problem if it was refused")
        .argument("<requestId>", "", wholeId)
        .action(async (id: string, options: ConnectionOptions) => {
          const { client, output } = connect(options);
          const request = await client.requests.get(id);
          output.print(request, () => requestText(request));
        }),
    );
}
