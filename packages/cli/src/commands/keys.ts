import process from "node:process";
import { API_KEY_KINDS, SCOPES } from "@mainspring/contract/enums";
import { KEY_OVERLAP_SEC_MAX } from "@mainspring/contract/limits";
import type { ApiKeyKind, ApiKeyScope } from "@mainspring/sdk";
import { Command, InvalidArgumentError } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
} from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { durationMs, instant, repeated, wholeId } from "../arguments/option-values.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { keysText, keyText, meText } from "../text/key-text.ts";
import { facts, Output } from "../text/output.ts";

interface CreateOptions extends ConnectionOptions {
  kind: ApiKeyKind;
  name?: string;
  scope?: ApiKeyScope[];
  pool?: string[];
  expires?: string;
  requireCert?: boolean;
  onStore?: boolean;
}

const KINDS = API_KEY_KINDS.map((kind) => kind.toLowerCase().replace("_", "-"));

const HOW = `
With --on-store the command writes into the store itself, as MAINSPRING_STORE (or MAINSPRING_DATA_DIR) names it, and needs neither a
server nor a key. So the first key is made: mainspring keys create --kind operator, where --on-store may be left out if MAINSPRING_STORE is set and
MAINSPRING_URL is not. A server on an embedded store must be stopped for that.`;

export function keysCommand(): Command {
  return new Command("keys")
    .description("API keys: who may do what")
    .addCommand(createCommand())
    .addCommand(
      listCommand("list API keys, without their texts").action(async (options: ListOptions) => {
        const { client, output } = connect(options);
        await output.list(client.keys.list(), options.limit, keysText);
      }),
    )
    .addCommand(getCommand())
    .addCommand(rotateCommand())
    .addCommand(revokeCommand());
}

export function whoamiCommand(): Command {
  return clientCommand("whoami")
    .description("show whose key the command sends, and what it may do")
    .action(async (options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const me = await client.me();
      output.print(me, () => meText(me));
    });
}

function createCommand(): Command {
  return clientCommand("create")
    .description("create an API key; the answer has its text, and no later one has it")
    .requiredOption("--kind <kind>", `what it is for: ${KINDS.join(", ")}`, kindOf)
    .option("--name <text>", "for people, such as the program that has it (default: its kind)")
    .option("--scope <scope>", "fewer scopes than those of its kind; may be repeated", scopes)
    .option("--pool <name>", "a pool that workers with the key may serve, as gpu-*; may be repeated", repeated)
    .option("--expires <time>", "when it expires (default: never)", instant)
    .option("--require-cert", "workers with it must show a certificate that names it; only for the kind worker")
    .option("--on-store", "write into the store itself, without a server")
    .addHelpText("after", HOW)
    .action(create);
}

async function create({ kind, name = kind.toLowerCase(), onStore, ...options }: CreateOptions): Promise<void> {
  // Without the address of a server, the first key of an operator goes into the store that the environment names.
  const isFirst = kind === "OPERATOR" && options.url === undefined && process.env.MAINSPRING_STORE !== undefined;
  if (onStore ?? isFirst) return await createOnStore(kind, name, options);
  const { client, output } = connect(options);
  const { scope, pool, expires, requireCert } = options;
  const rest = given({ scopes: scope, pools: pool, expiresAt: expires, requireCert });
  const created = await client.keys.create({ kind, name, ...rest });
  output.print(created, () => keyText(created, created.key));
}

async function createOnStore(
  kind: ApiKeyKind,
  name: string,
  { scope, pool, expires, requireCert, json }: Omit<CreateOptions, "kind">,
): Promise<void> {
  if ([scope, pool, expires, requireCert].some((one) => one !== undefined))
    throw new Failure(
      "--on-store makes keys with all scopes of their kind: leave out --scope, --pool, --expires and --require-cert",
      EXIT.usage,
    );
  const { createKeyInStore, loadConfig } = await import("@mainspring/server");
  const created = await createKeyInStore(loadConfig(process.env), { kind, name });
  new Output(json === true).print(created, () =>
    facts([
      ["key id", created.keyId],
      ["kind", kind],
      ["name", name],
      ["key", created.key],
    ]),
  );
}

function getCommand(): Command {
  return clientCommand("get")
    .description("show an API key, without its text")
    .argument("<keyId>", "", wholeId)
    .action(async (id: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const key = await client.keys.get(id);
      output.print(key, () => keyText(key));
    });
}

function rotateCommand(): Command {
  return clientCommand("rotate")
    .description("create the successor of an API key; the former one is good for a while, too")
    .argument("<keyId>", "", wholeId)
    .option("--overlap <duration>", "how long the former one stays good, as 12h (default: 24h)", durationMs)
    .action(async (id: string, options: ConnectionOptions & { overlap?: number }) => {
      const { client, output } = connect(options);
      const overlapSec = options.overlap === undefined ? undefined : Math.ceil(options.overlap / 1_000);
      if ((overlapSec ?? 0) > KEY_OVERLAP_SEC_MAX) throw new Failure("--overlap: at most 30 days", EXIT.usage);
      const created = await client.keys.rotate(id, given({ overlapSec }));
      output.print(created, () => keyText(created, created.key));
    });
}

function revokeCommand(): Command {
  return clientCommand("revoke")
    .description("revoke an API key for good: its streams and workers are disconnected within two seconds")
    .argument("<keyId>", "", wholeId)
    .action(async (id: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const key = await client.keys.revoke(id);
      output.print(key, () => keyText(key));
    });
}

function kindOf(text: string): ApiKeyKind {
  const kind = API_KEY_KINDS[KINDS.indexOf(text.toLowerCase().replace("_", "-"))];
  if (kind === undefined) throw new InvalidArgumentError(`must be one of ${KINDS.join(", ")}`);
  return kind;
}

function scopes(text: string, before: ApiKeyScope[] = []): ApiKeyScope[] {
  const scope = SCOPES.find((one) => one === text);
  if (scope === undefined) throw new InvalidArgumentError(`must be one of ${SCOPES.join(", ")}`);
  return [...before, scope];
}
