import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { commandLine } from "./command-line.ts";
import { describeMachine } from "./machine.ts";
import { nextFireTimes } from "./next-fire.ts";
import { installPeers } from "./peers.ts";
import { type Measured, writeJson, writeReport } from "./report/report.ts";
import { Stage } from "./services/stage.ts";
import { measureAll } from "./session.ts";

const DOCS = join(import.meta.dirname, "..", "..", "..", "docs");

const options = commandLine(process.argv.slice(2));
if (options.isNextFire) await nextFireTimes(options);
else
  await keep(options.from === null ? await measure() : (JSON.parse(await readFile(options.from, "utf8")) as Measured));

async function measure(): Promise<Measured> {
  const { contenders, scenarios, scale, runs } = options;
  const hasPeers = contenders.some(({ isPeer }) => isPeer);
  if (hasPeers) await installPeers();
  await using stage = new Stage();
  const at = new Date().toISOString();
  const machine = await describeMachine(stage, hasPeers);
  for (const [what, value] of Object.entries(machine)) console.log(`${what}: ${value}`);
  const measured: Measured = { at, isQuick: scale.isQuick, runs, machine, results: [] };
  await measureAll({ scenarios, contenders, scale, runs }, stage, async (result) => {
    measured.results.push(result);
    // What was found out in an hour is not to be lost by what comes next.
    await keep(measured);
  });
  if (measured.results.some(({ outcomes }) => outcomes.some(({ failures }) => failures.length > 0)))
    process.exitCode = 1;
  return measured;
}

async function keep(measured: Measured): Promise<void> {
  if (options.json !== null) await writeJson(options.json, measured);
  if (options.writesReport) await writeReport(DOCS, measured);
}
