import { TENANT_CHANGE_STATES } from "@mainspring/contract/enums";
import { TENANT_COUNT_MAX, TENANT_RATE_MAX, TENANT_RATE_MIN } from "@mainspring/contract/limits";
import type { Tenant, TenantSettings, TenantSource } from "@mainspring/sdk";
import { Command } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
} from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { choiceOption, integer, limit, repeated } from "../arguments/option-values.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { tenantsText, tenantText, usageText } from "../text/tenant-text.ts";

/** Options of limits; each option has the name of the setting. */
const LIMITS = {
  maxRunning: ["--max-running <number>", "attempts that may be at workers at once"],
  maxWaiting: ["--max-waiting <number>", "executions that may wait before a submit is refused"],
  maxRecurring: ["--max-recurring <number>", "recurring jobs that may exist before another one is refused"],
  submitsPerSec: ["--submits-per-sec <number>", "jobs that it may submit in a second, on average"],
  requestsPerSec: ["--requests-per-sec <number>", "requests that it may send in a second, on average"],
  maxPayloadBytes: ["--max-payload-bytes <number>", "bytes of the payload of a job"],
  maxBatchBytes: ["--max-batch-bytes <number>", "bytes of the body of a request that submits a batch or a workflow"],
} as const satisfies Partial<Record<keyof TenantSettings, readonly [flags: string, description: string]>>;
type LimitOption = keyof typeof LIMITS;

interface SettingOptions extends ConnectionOptions, Partial<Record<LimitOption, number | "none">> {
  weight?: number;
  pool?: string[];
  everyPool?: boolean;
}

export function tenantsCommand(): Command {
  return new Command("tenants")
    .description("tenants, whose jobs and keys are apart from those of all others")
    .addCommand(
      listCommand("list tenants, by name").action(async (options: ListOptions) => {
        const { client, output } = connect(options);
        await output.list(client.tenants.list(), options.limit, tenantsText);
      }),
    )
    .addCommand(tenantCommand("get", "show a tenant", (client, name) => client.tenants.get(name)))
    .addCommand(createCommand())
    .addCommand(setCommand())
    .addCommand(
      tenantCommand("suspend", "refuse submits of a tenant, and start nothing of it", (client, name) =>
        client.tenants.suspend(name),
      ),
    )
    .addCommand(usageCommand())
    .addCommand(sourceCommand("bind", "give a database role or a topic of requests to a tenant"))
    .addCommand(sourceCommand("unbind", "take a database role or a topic of requests from a tenant"))
    .addCommand(
      tenantCommand("delete", "revoke its keys, delete its jobs and cancel its executions", (client, name) =>
        client.tenants.delete(name),
      ),
    );
}

type Client = ReturnType<typeof connect>["client"];

function tenantCommand(
  verb: string,
  description: string,
  act: (client: Client, name: string) => Promise<Tenant>,
): Command {
  return clientCommand(verb)
    .description(description)
    .argument("<tenant>")
    .action(async (name: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const tenant = await act(client, name);
      output.print(tenant, () => tenantText(tenant));
    });
}

function withSettings(command: Command): Command {
  const settled = command
    .option("--weight <number>", "share beside other tenants in a pool (default of a new one: 100)", integer(1, 1_000))
    .option("--pool <name>", "a pool that its jobs may name, as batch-*; may be repeated", repeated)
    .option("--every-pool", "its jobs may name every pool");
  for (const [name, [flags, description]] of Object.entries(LIMITS)) {
    const isRate = name.endsWith("PerSec");
    const [min, max] = isRate ? [TENANT_RATE_MIN, TENANT_RATE_MAX] : [0, TENANT_COUNT_MAX];
    settled.option(flags, `${description}; none: no limit`, limit(min, max, !isRate));
  }
  return settled;
}

function createCommand(): Command {
  return withSettings(clientCommand("create").description("create a tenant").argument("<tenant>")).action(
    async (name: string, options: SettingOptions) => {
      const { client, output } = connect(options);
      const tenant = await client.tenants.create({ name, ...settingsOf(options) });
      output.print(tenant, () => tenantText(tenant));
    },
  );
}

function setCommand(): Command {
  const command = clientCommand("set")
    .description("change the settings of a tenant, or let a suspended one go on; what is left out stays")
    .argument("<tenant>")
    .addOption(choiceOption("--state <state>", "SUSPENDED: nothing of it starts", TENANT_CHANGE_STATES));
  return withSettings(command).action(
    async (name: string, options: SettingOptions & { state?: "ACTIVE" | "SUSPENDED" }) => {
      const change = { ...settingsOf(options), ...given({ state: options.state }) };
      if (Object.keys(change).length === 0) throw new Failure("tenants set: name what is to change", EXIT.usage);
      const { client, output } = connect(options);
      const tenant = await client.tenants.change(name, change);
      output.print(tenant, () => tenantText(tenant));
    },
  );
}

function settingsOf(options: SettingOptions): TenantSettings {
  const { weight, pool, everyPool } = options;
  const limits = (Object.keys(LIMITS) as LimitOption[]).map((name) => {
    const value = options[name];
    return [name, value === "none" ? null : value] as const;
  });
  return given({ weight, pools: everyPool === true ? null : pool, ...Object.fromEntries(limits) });
}

function usageCommand(): Command {
  return clientCommand("usage")
    .description("count the executions of a tenant by state")
    .argument("<tenant>")
    .action(async (name: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const usage = await client.tenants.usage(name);
      output.print(usage, () => usageText(usage));
    });
}

function sourceCommand(verb: "bind" | "unbind", description: string): Command {
  return clientCommand(verb)
    .description(description)
    .argument("<tenant>")
    .option("--role <name>", "database role that submits in SQL")
    .option("--topic <name>", "topic of requests in Kafka")
    .action(async (name: string, options: ConnectionOptions & { role?: string; topic?: string }) => {
      const { client, output } = connect(options);
      const tenant = await client.tenants[verb](name, sourceOf(options));
      output.print(tenant, () => tenantText(tenant));
    });
}

function sourceOf({ role, topic }: { role?: string; topic?: string }): TenantSource {
  if (role !== undefined && topic === undefined) return { kind: "ROLE", name: role };
  if (topic !== undefined && role === undefined) return { kind: "TOPIC", name: topic };
  throw new Failure("give either --role or --topic", EXIT.usage);
}
