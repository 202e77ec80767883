import { ORDER_STRATEGIES, PLACEMENT_STRATEGIES } from "@mainspring/contract/enums";
import type { ChangedPool, Pool, PoolSettings } from "@mainspring/sdk";
import { Command } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
} from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { choiceOption, durationMs, integer, limit } from "../arguments/option-values.ts";
import { demandKnownPool } from "../arguments/pool-argument.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { counted } from "../text/counted.ts";
import { facts, table } from "../text/output.ts";

interface SetOptions extends ConnectionOptions, Pick<PoolSettings, "strategy" | "placement" | "headroom" | "owner"> {
  priorityStep?: number;
  maxRunning?: number | "none";
  ratePerSec?: number | "none";
}

export function poolsCommand(): Command {
  return new Command("pools")
    .description("look at pools, pause, resume and set them up")
    .addCommand(
      listCommand("list the pools that have settings or workers, by name").action(async (options: ListOptions) => {
        const { client, output } = connect(options);
        await output.list(client.pools.list(), options.limit, poolsText);
      }),
    )
    .addCommand(poolCommand("get", "show a pool"))
    .addCommand(pauseCommand())
    .addCommand(poolCommand("resume", "start what a paused pool holds"))
    .addCommand(setCommand());
}

function pauseCommand(): Command {
  return clientCommand("pause")
    .description("start nothing of a pool any more; what runs goes on")
    .argument("<pool>")
    .option("--force", "also a pool that has no workers, no jobs and no settings yet")
    .action(async (name: string, options: ConnectionOptions & { force?: boolean }) => {
      const { client, output } = connect(options);
      if (options.force !== true) await demandKnownPool(client, name);
      const pool = await client.pools.pause(name);
      output.print(pool, () => poolText(pool));
    });
}

function poolCommand(verb: "get" | "resume", description: string): Command {
  return clientCommand(verb)
    .description(description)
    .argument("<pool>")
    .action(async (name: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const pool = await client.pools[verb](name);
      output.print(pool, () => poolText(pool));
    });
}

function setCommand(): Command {
  return clientCommand("set")
    .description("set how a pool orders and places its work, and its limits; what is left out stays")
    .argument("<pool>")
    .addOption(
      choiceOption(
        "--strategy <strategy>",
        "PRIORITY: a level is a head start; FIFO: by due time alone",
        ORDER_STRATEGIES,
      ),
    )
    .option("--priority-step <duration>", "with PRIORITY: the head start of one level, as 10m", durationMs)
    .addOption(
      choiceOption(
        "--placement <placement>",
        "LEAST_LOADED: to who has the most free; ROUND_ROBIN: in turn",
        PLACEMENT_STRATEGIES,
      ),
    )
    .option(
      "--max-running <number>",
      "attempts at workers at once, over all servers; none: no limit",
      limit(1, 1e6, true),
    )
    .option("--rate-per-sec <number>", "attempts begun in a second; none: no limit", limit(0.001, 1e6, false))
    .option("--headroom <percent>", "part of the slots that stays free for tenants with few attempts", integer(0, 50))
    .option("--owner <tenant>", "for operators: set up the pool of this name that the tenant owns")
    .action(async (name: string, options: SetOptions) => {
      const settings = settingsOf(options);
      if (Object.keys(settings).length === 0)
        throw new Failure(
          "give at least one of --strategy, --priority-step, --placement, --headroom, --owner and the limits",
          EXIT.usage,
        );
      const { client, output } = connect(options);
      const pool = await client.pools.set(name, settings);
      output.print(pool, () => poolText(pool));
    });
}

function settingsOf(options: SetOptions): PoolSettings {
  const { strategy, priorityStep, placement, maxRunning, ratePerSec, headroom, owner } = options;
  return given({
    strategy,
    priorityStepSec: priorityStep === undefined ? undefined : priorityStep / 1_000,
    placement,
    // Commander treats null as no value.
    maxRunning: maxRunning === "none" ? null : maxRunning,
    ratePerSec: ratePerSec === "none" ? null : ratePerSec,
    headroom,
    owner,
  });
}

function poolsText(pools: readonly Pool[]): string {
  if (pools.length === 0) return "no pools: one is there once it has workers or settings";
  const rows = pools.map((pool) => [
    pool.name,
    pool.paused ? "PAUSED" : "OPEN",
    String(pool.workers),
    `${pool.running} of ${pool.slots}`,
    pool.strategy,
    pool.placement,
    pool.owner ?? "-",
  ]);
  const columns = ["POOL", "STATE", "WORKERS", "RUNNING", "STRATEGY", "PLACEMENT", "OWNER"];
  if (pools.some(({ owner }) => typeof owner === "string")) return table(columns, rows);
  return table(
    columns.slice(0, -1),
    rows.map((row) => row.slice(0, -1)),
  );
}

function poolText(pool: ChangedPool): string {
  return facts([
    ["pool", pool.name],
    ["owner", pool.owner ?? null],
    ["state", pool.paused ? "PAUSED" : "OPEN"],
    ["workers", String(pool.workers)],
    ["running", `${pool.running} of ${counted(pool.slots, "slot")}`],
    ["strategy", pool.strategy],
    ["priority step", pool.strategy === "PRIORITY" ? `${pool.priorityStepSec} s a level` : null],
    ["placement", pool.placement],
    ["max running", pool.maxRunning === null ? null : `${pool.limitUse?.taken ?? "?"} of ${pool.maxRunning}`],
    ["rate", pool.ratePerSec === null ? null : `${pool.ratePerSec} a second`],
    // Servers of an earlier version have no headroom.
    ["headroom", (pool.headroom ?? 0) === 0 ? null : `${pool.headroom} % of the slots`],
    ["unconfirmed", unconfirmedText(pool)],
    ["warning", pool.warnings?.join("; ") ?? null],
  ]);
}

/** Warning about servers that have not confirmed; null: every server applies the change, or nothing was changed. */
function unconfirmedText({ unconfirmedBy = [] }: ChangedPool): string | null {
  if (unconfirmedBy.length === 0) return null;
  const names = unconfirmedBy.map(({ nodeId, address }) => (address === null ? nodeId : `${address} (${nodeId})`));
  return `${names.join(", ")}: not yet, or they did not answer`;
}
