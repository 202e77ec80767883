import { openRedisTransfer } from "./adapters/redis-store/redis-store.ts";
import { openSqlTransfer } from "./adapters/sql/transfer/open-transfer.ts";
import { type Tools, withEmbedded, withTools } from "./move-store.ts";
import { type Config, ConfigError, loadConfig } from "./ops/config.ts";
import { StoreUnusable } from "./ports/store.ts";
import { type StoreTransfer, TRANSFER_KINDS, type TransferKind } from "./ports/store-transfer.ts";
import { type TransferOptions, type Transferred, transferStore } from "./store-transfer.ts";

/** Settings of the environment that each kind of store has. */
const OF_POSTGRES = ["MAINSPRING_DATA_DIR", "MAINSPRING_STORE_SCHEMA"] as const;
const OF_REDIS = ["MAINSPRING_REDIS_REPLICAS", "MAINSPRING_REDIS_DURABILITY"] as const;

type Environment = Readonly<Record<string, string | undefined>>;

/** Option of the command that names no store. */
class BadOption extends Error {
  readonly code = "BAD_OPTION";
}

export interface MigrateOptions extends Pick<TransferOptions, "onRows" | "signal"> {
  env: Environment;
  /** Value of MAINSPRING_STORE for each side; from null: the settings of the environment name the store. */
  from: string | null;
  to: string;
  /** Names of kinds of rows that stay behind. */
  without: readonly string[];
}

/**
 * Copies a whole store from PostgreSQL to Redis or back, while no server uses either. A repeat of a copy that ended early begins again.
 * @throws {StoreUnusable} one of the stores cannot take part, or the copy differs; the message says what was changed
 * @throws {StoreUnavailable} one of the stores does not answer
 */
export async function migrateStore({ env, from, to, without, ...watch }: MigrateOptions): Promise<Transferred> {
  const [source, target] = [configOf(env, from, "--from"), configOf(env, to, "--to")];
  if ((source.redisStore === null) === (target.redisStore === null))
    throw new StoreUnusable(
      "This moves a store between PostgreSQL and Redis: one of --from and --to must be a redis:// address, and the other one a PostgreSQL.",
    );
  const unknown = without.find((kind) => !(TRANSFER_KINDS as readonly string[]).includes(kind));
  if (unknown !== undefined)
    throw new StoreUnusable(`--without ${unknown} is no kind of rows; the kinds are ${TRANSFER_KINDS.join(", ")}.`);
  return await withTools("migrate", (tools) =>
    opened(source, tools, false, (fromStore) =>
      opened(target, tools, true, (toStore) =>
        transferStore({ from: fromStore, to: toStore, without: new Set(without as TransferKind[]), ...watch }),
      ),
    ),
  );
}

/**
 * Lets servers open a store again that was moved to another one.
 * @returns the other store
 * @throws {StoreUnusable} the store was not moved
 */
export async function undoMigration(env: Environment, from: string | null): Promise<string> {
  return await withTools("migrate", (tools) =>
    opened(configOf(env, from, "--from"), tools, false, async (store) => {
      const mark = await store.mark();
      if (mark?.state !== "MOVED") throw new StoreUnusable(`${store.name} was not moved. Nothing was changed.`);
      await store.setMark(null);
      return mark.other;
    }),
  );
}

/**
 * Settings of one side. Settings of the other kind of store do not count for it.
 * @param option name of the option that gives `store`
 * @throws {BadOption} the option names no store
 * @throws {ConfigError} the settings name no store
 */
function configOf(env: Environment, store: string | null, option: string): Config {
  if (store === null) return sideOf(env, env);
  if (store.trim() === "") throw new BadOption(`${option} must name a store: redis://…, postgres://…, or embedded`);
  try {
    return sideOf(env, { MAINSPRING_STORE: store });
  } catch (error) {
    const namesStore = error instanceof ConfigError && error.message.startsWith("MAINSPRING_STORE ");
    throw namesStore ? new BadOption(error.message.replaceAll("MAINSPRING_STORE ", `${option} `)) : error;
  }
}

/** @param named has the settings that name the store */
function sideOf(env: Environment, { MAINSPRING_STORE, MAINSPRING_STORE_FILE }: Environment): Config {
  const named = { MAINSPRING_STORE, MAINSPRING_STORE_FILE };
  const some = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, env[name]]));
  const first = loadConfig(defined({ ...named, MAINSPRING_DATA_DIR: env["MAINSPRING_DATA_DIR"] }));
  return loadConfig(defined({ ...named, ...some(first.redisStore !== null ? OF_REDIS : OF_POSTGRES) }));
}

function defined(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function opened<T>(
  config: Config,
  tools: Tools,
  isTarget: boolean,
  use: (store: StoreTransfer) => Promise<T>,
): Promise<T> {
  const { redisStore, store: connection, storeSchema: schema, dataDir } = config;
  if (redisStore !== null) {
    const node = tools.incarnation;
    return await closing(await openRedisTransfer({ ...redisStore, runtime: tools.runtime, node, log: tools.log }), use);
  }
  if (connection !== "embedded")
    return await closing(await openSqlTransfer({ ...tools, connection, schema, isTarget, name: null }), use);
  const name = `The embedded store in ${dataDir}`;
  return await withEmbedded(dataDir, tools, async (own) =>
    closing(await openSqlTransfer({ ...tools, connection: own, schema, isTarget, name }), use),
  );
}

async function closing<T>(store: StoreTransfer, use: (store: StoreTransfer) => Promise<T>): Promise<T> {
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
