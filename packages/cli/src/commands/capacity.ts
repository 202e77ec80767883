import { Command } from "commander";
import { choiceOption, decimal, integer } from "../arguments/option-values.ts";
import { COSTS } from "../capacity/costs.ts";
import { needsOf } from "../capacity/needs.ts";
import type { Plan } from "../capacity/plan.ts";
import { capacityText, documentOf } from "../text/capacity-text.ts";
import { Output } from "../text/output.ts";

/** Largest payload and result of a job, which is the limit of the server. */
const BYTES_MAX = 1_048_576;
const JOBS_PER_DAY_MAX = 1_000_000_000_000;

interface Options extends Omit<Plan, "workers" | "nodes" | "store"> {
  workers?: number;
  nodes?: number;
  storeCores: number;
  storeConnections: number;
  storeWal: number;
  storeIops: number;
  storeGib: number;
  json?: boolean;
}

const HOW = `
Each need follows from costs that the benchmark has measured, by the formula in its line: docs/scale.md shows them, and says what
was never run. The command asks no server. The bottleneck is the need that reaches its limit first as the jobs of a day grow.
Other programs than handlers and Mainspring, a replica, backups and vacuum need their own room.`;

export function capacityCommand(): Command {
  return new Command("capacity")
    .description("compute from measured costs what a cluster needs for a load, and its first bottleneck")
    .requiredOption("--jobs-per-day <count>", "jobs of a day, executions of recurring jobs included", jobsPerDay)
    .option("--peak-factor <factor>", "rate at the busiest time, as a multiple of the mean", decimal(1, 1_000), 3)
    .option("--payload-bytes <bytes>", "payload of a job", integer(0, BYTES_MAX), 1_024)
    .option("--result-bytes <bytes>", "result of a job", integer(0, BYTES_MAX), 256)
    .option("--attempts <mean>", "mean number of attempts of a job", decimal(1, 100), 1)
    .option("--retention-days <days>", "MAINSPRING_RETENTION_DAYS", integer(1, 36_500), 30)
    .option("--workers <count>", "workers (default: as many as the jobs need)", integer(1, 1_000_000))
    .option("--slots <count>", "slots of each worker", integer(1, 10_000), 10)
    .option("--handler-ms <ms>", "mean time of a job in its slot", decimal(0, 86_400_000), 100)
    .option("--recurring <count>", "recurring jobs", integer(0, 100_000_000), 0)
    .option("--nodes <count>", "nodes (default: as many as the load needs, and one more)", integer(1, 10_000))
    .option("--cores-per-node <cores>", "cores that a node may use; more than 1 do not count", decimal(0.1, 1_024), 1)
    .addOption(
      choiceOption("--events <kind>", "lifecycle events", ["off", "api", "kafka", "clickhouse"]).default("off"),
    )
    .addOption(
      choiceOption("--submits <kind>", "jobs come one by one, or in batches of 1,000", ["single", "batches"]).default(
        "single",
      ),
    )
    .option("--store-cores <cores>", "cores of PostgreSQL", decimal(0.1, 1_024), 8)
    .option("--store-connections <count>", "max_connections of PostgreSQL", integer(1, 100_000), 100)
    .option("--store-wal <mb>", "MB/s of WAL that its disk writes", decimal(0.1, 100_000), 100)
    .option("--store-iops <count>", "flushes a second that its disk does", integer(1, 10_000_000), 3_000)
    .option("--store-gib <gib>", "room of its disk in GiB", integer(1, 10_000_000), 1_000)
    .option("--json", "print JSON for programs")
    .addHelpText("after", HOW)
    .action((options: Options) => {
      const plan = planOf(options);
      const needs = needsOf(plan, COSTS);
      const output = new Output(options.json === true);
      output.print(documentOf(plan, needs, COSTS), () => capacityText(needs, COSTS));
    });
}

function planOf(options: Options): Plan {
  const { workers, nodes, storeCores, storeConnections, storeWal, storeIops, storeGib, ...load } = options;
  return {
    jobsPerDay: load.jobsPerDay,
    peakFactor: load.peakFactor,
    payloadBytes: load.payloadBytes,
    resultBytes: load.resultBytes,
    attempts: load.attempts,
    retentionDays: load.retentionDays,
    workers: workers ?? null,
    slots: load.slots,
    handlerMs: load.handlerMs,
    recurring: load.recurring,
    nodes: nodes ?? null,
    coresPerNode: load.coresPerNode,
    events: load.events,
    submits: load.submits,
    store: {
      cores: storeCores,
      connections: storeConnections,
      walMbPerSec: storeWal,
      iops: storeIops,
      gib: storeGib,
    },
  };
}

const jobsPerDay = integer(1, JOBS_PER_DAY_MAX);
