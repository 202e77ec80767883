import { join } from "node:path";
import { commandLine } from "./command-line.ts";
import { commit, describeMachine } from "./machine.ts";
import { FORMAT, type Measured } from "./measured.ts";
import { readAll, writeJson } from "./measured-file.ts";
import { nextFireTimes } from "./next-fire.ts";
import { installPeers } from "./peers.ts";
import { writeReport } from "./report/report.ts";
import { Stage, warmUpJobsOf } from "./services/stage.ts";
import { measureAll } from "./session.ts";

const DOCS = join(import.meta.dirname, "..", "..", "..", "docs");

const options = commandLine(process.argv.slice(2));
if (options.isNextFire) await nextFireTimes(options);
else await keep(options.from === null ? await measure() : await readAll(options.from).catch(refused));

async function measure(): Promise<Measured> {
  const { contenders, scale } = options;
  const hasPeers = contenders.some(({ isPeer }) => isPeer);
  if (hasPeers) await installPeers();
  await using stage = new Stage(warmUpJobsOf(scale.isQuick));
  const machine = await describeMachine(stage, hasPeers);
  for (const [what, value] of Object.entries(machine)) console.log(`${what}: ${value}`);
  console.log(`commit: ${commit}`);
  const measured: Measured = { format: FORMAT, isQuick: scale.isQuick, machine, results: [] };
  await measureAll(options, stage, async (result) => {
    measured.results.push(result);
    // Results of an hour must not be lost by a later error.
    await keep(measured);
  });
  if (
    measured.results.some(({ outcomes }) =>
      outcomes.some(({ occasions }) => occasions.some(({ failures }) => failures.length > 0)),
    )
  )
    process.exitCode = 1;
  return measured;
}

/** Files that are not there, are something else or do not belong together: only what is wrong is of interest. */
function refused(error: Error): never {
  console.error(error.message);
  process.exit(2);
}

async function keep(measured: Measured): Promise<void> {
  if (options.json !== null) await writeJson(options.json, measured);
  if (options.writesReport) await writeReport(DOCS, measured);
}
