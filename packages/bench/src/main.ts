import { join } from "node:path";
import { auditCost } from "./audit-cost.ts";
import { type CommandLine, commandLine, PAIRS, USAGE } from "./command-line.ts";
import { compare } from "./compare/compare.ts";
import { type ConsoleScale, measureConsole } from "./console/console-run.ts";
import { ingestTimes } from "./ingest.ts";
import { commit, describeMachine } from "./machine.ts";
import { FORMAT, type Measured } from "./measured.ts";
import { readAll, writeJson } from "./measured-file.ts";
import { nextFireTimes } from "./next-fire.ts";
import { installPeers } from "./peers.ts";
import { writeReport } from "./report/report.ts";
import { Stage, warmUpJobsOf } from "./services/stage.ts";
import { measureAll, reasonOf } from "./session.ts";
import { sqlSubmitTimes } from "./sql-submit.ts";

const DOCS = join(import.meta.dirname, "..", "..", "..", "docs");

const options = optionsOf(process.argv.slice(2));
if (options === null) console.log(USAGE);
else await obey(options);

function optionsOf(args: readonly string[]): CommandLine | null {
  try {
    return commandLine(args);
  } catch (error) {
    return refused(error as Error);
  }
}

async function obey(options: CommandLine): Promise<void> {
  if (options.isNextFire) await nextFireTimes(options);
  else if (options.isSqlSubmit) await sqlSubmitTimes();
  else if (options.isAudit) await auditFigures(options);
  else if (options.isIngest) await ingestTimes(options.scale);
  else if (options.console !== null) await consoleFigures(options.console, options);
  else if (options.compare !== null) await compareWith(options.compare, options).catch(refused);
  else await keep(options, options.from === null ? await measure(options) : await readAll(options.from).catch(refused));
}

async function auditFigures({ scale, postgres }: CommandLine): Promise<void> {
  await using stage = new Stage(warmUpJobsOf(scale.isQuick), postgres);
  await auditCost(scale, stage);
}

async function consoleFigures(scale: ConsoleScale, { postgres, json }: CommandLine): Promise<void> {
  await using stage = new Stage(warmUpJobsOf(scale.isQuick), postgres);
  await measureConsole(scale, stage, json);
}

async function compareWith(ref: string, { scenarios, scale, runs, postgres }: CommandLine): Promise<void> {
  await using stage = new Stage(warmUpJobsOf(scale.isQuick), postgres);
  for (const [what, value] of Object.entries(await describeMachine(stage, false))) console.log(`${what}: ${value}`);
  if (!(await compare({ ref, scenarios, scale, pairs: runs ?? PAIRS }, stage))) process.exitCode = 1;
}

async function measure(options: CommandLine): Promise<Measured> {
  const { contenders, scale, postgres } = options;
  const hasPeers = contenders.some(({ isPeer }) => isPeer);
  if (hasPeers) await installPeers();
  await using stage = new Stage(warmUpJobsOf(scale.isQuick), postgres);
  const machine = await describeMachine(stage, hasPeers);
  for (const [what, value] of Object.entries(machine)) console.log(`${what}: ${value}`);
  console.log(`commit: ${commit}`);
  const measured: Measured = { format: FORMAT, isQuick: scale.isQuick, machine, results: [] };
  await measureAll(options, stage, async (result) => {
    measured.results.push(result);
    // The results are written after each case, so that a later error does not lose them.
    await keep(options, measured);
  });
  if (
    measured.results.some(({ outcomes }) =>
      outcomes.some(({ occasions }) => occasions.some(({ failures }) => failures.length > 0)),
    )
  )
    process.exitCode = 1;
  return measured;
}

/** Prints a user's error without a stack trace: a wrong option, or files that are missing or do not belong together. */
function refused(error: Error): never {
  console.error(reasonOf(error));
  process.exit(2);
}

async function keep(options: CommandLine, measured: Measured): Promise<void> {
  if (options.json !== null) await writeJson(options.json, measured);
  if (options.writesReport) await writeReport(DOCS, measured);
}
