import { DELIVERY_STATES, EVENT_KINDS } from "@mainspring/contract/enums";
import type { EventKind, WebhookDelivery } from "@mainspring/sdk";
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
import { choiceOption, eventKinds, ids, instant, integer, wholeId } from "../arguments/option-values.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { sentence } from "../text/output.ts";
import { deliveriesText, webhooksText, webhookText } from "../text/webhook-text.ts";

interface CreateOptions extends ConnectionOptions {
  kind?: EventKind[];
  handler?: string;
  pool?: string;
}

interface DeliveryOptions extends ListOptions {
  state?: WebhookDelivery["state"];
}

interface ReplayOptions extends ConnectionOptions {
  since?: string;
  until?: string;
}

export function webhooksCommand(): Command {
  return new Command("webhooks")
    .description("look at who is told of ends and events, subscribe, enable, and send again")
    .addCommand(
      listCommand("list webhooks: subscriptions, and the receivers of ends").action(async (options: ListOptions) => {
        const { client, output } = connect(options);
        await output.list(client.webhooks.list(), options.limit, webhooksText);
      }),
    )
    .addCommand(oneCommand("get", "show a webhook"))
    .addCommand(createCommand())
    .addCommand(oneCommand("enable", "send what waits for a disabled webhook"))
    .addCommand(disableCommand())
    .addCommand(rotateCommand())
    .addCommand(removeCommand())
    .addCommand(deliveriesCommand())
    .addCommand(replayCommand());
}

function oneCommand(verb: "get" | "enable", description: string): Command {
  return clientCommand(verb)
    .description(description)
    .argument("<webhookId>", "", wholeId)
    .action(async (id: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const webhook = await client.webhooks[verb](id);
      output.print(webhook, () => webhookText(webhook));
    });
}

function createCommand(): Command {
  return clientCommand("create")
    .description("subscribe a URL to events; the answer has the secret that signs them, and no later one has it")
    .argument("<receiver>", "an http or https URL")
    .option("--kind <kind>", `only events of this kind: ${EVENT_KINDS.join(", ")}; may be repeated`, eventKinds)
    .option("--handler <name>", "only events of this handler")
    .option("--pool <name>", "only events of this pool")
    .action(async (url: string, options: CreateOptions) => {
      const { client, output } = connect(options);
      const filter = given({ kinds: options.kind, handler: options.handler, pool: options.pool });
      const created = await client.webhooks.create({ url, ...filter });
      output.print(created, () => webhookText(created, created.secret));
    });
}

function disableCommand(): Command {
  return clientCommand("disable")
    .description("send nothing to a webhook until it is enabled")
    .argument("<webhookId>", "", wholeId)
    .option("--reason <text>", "why, for the list")
    .action(async (id: string, options: ConnectionOptions & { reason?: string }) => {
      const { client, output } = connect(options);
      const webhook = await client.webhooks.disable(id, given({ reason: options.reason }));
      output.print(webhook, () => webhookText(webhook));
    });
}

function rotateCommand(): Command {
  return clientCommand("rotate-secret")
    .description("give a subscription a new secret; the former one signs for another day, too")
    .argument("<webhookId>", "", wholeId)
    .action(async (id: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const rotated = await client.webhooks.rotateSecret(id);
      output.print(
        rotated,
        () => sentence`secret ${rotated.secret}; the former one signs until ${rotated.formerUntil}`,
      );
    });
}

function removeCommand(): Command {
  return clientCommand("remove")
    .description("remove a webhook with its deliveries")
    .argument("<webhookId>", "", wholeId)
    .action(async (webhookId: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      await client.webhooks.remove(webhookId);
      output.print({ webhookId, removed: true }, () => sentence`removed: webhook ${webhookId}`);
    });
}

function deliveriesCommand(): Command {
  return clientCommand("deliveries")
    .description("list deliveries of a webhook, newest first")
    .argument("<webhookId>", "", wholeId)
    .addOption(choiceOption("--state <state>", "only those in this state", DELIVERY_STATES))
    .option("--limit <count>", "how many at most", integer(1, 100_000), 20)
    .action(async (id: string, options: DeliveryOptions) => {
      const { client, output } = connect(options);
      const filter = given({ state: options.state, limit: pageOf(options.limit) });
      await output.list(client.webhooks.deliveries(id, filter), options.limit, deliveriesText);
    });
}

function replayCommand(): Command {
  return clientCommand("replay")
    .description("send deliveries again: these, or all FAILED ones of an interval")
    .argument("<webhookId>", "", wholeId)
    .argument("[deliveryIds...]", "which ones; or --since", ids)
    .option("--since <time>", "all FAILED ones that were created at or after", instant)
    .option("--until <time>", "with --since: and before (default: now)", instant)
    .action(async (id: string, deliveryIds: string[] = [], { since, until, ...options }: ReplayOptions) => {
      if (deliveryIds.length > 0 === (since !== undefined) || (until !== undefined && since === undefined))
        throw new Failure("give either delivery ids, or --since with or without --until", EXIT.usage);
      const { client, output } = connect(options);
      const which = since === undefined ? { deliveryIds } : given({ since, until });
      const replayed = await client.webhooks.replay(id, which);
      output.print(
        { replayed },
        () => `${replayed} ${replayed === 1 ? "delivery is" : "deliveries are"} sent again within some seconds`,
      );
    });
}
