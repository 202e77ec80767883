import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ConsoleMeasured, readConsole } from "../console/console-measured.ts";
import { consoleSection } from "../console/console-section.ts";
import { FIGURES, type FigureName } from "../figures.ts";
import type { CaseResult, Measured } from "../measured.ts";
import { writeJson } from "../measured-file.ts";
import { SCENARIOS } from "../scenarios/scenarios.ts";
import { POSTGRES_SETTINGS } from "../services/postgres.ts";
import { warmUpJobsOf } from "../services/stage.ts";
import { judgeGoals } from "./judge-goals.ts";
import { occasionsOf, whenMeasured } from "./occasions.ts";
import { type Plot, plotsOf } from "./plots.ts";
import { contenderOf, formatted, spreadText, table } from "./words.ts";

const introduction = (warmUpJobs: number) => `# Performance

\`npm run bench -- --report\` measures and writes this page, its pictures and \`performance/results.json\`. Do not edit them by
hand. [packages/bench](../packages/bench/README.md) explains how the bench measures, and how to run it.

All contenders ran in turns, on the same machine and the same PostgreSQL. Each case had an empty database or Redis. Before the
measurement each contender runs ${warmUpJobs.toLocaleString("en")} jobs in the same processes, so that all code is compiled, as in a server that has run
for a minute; only crash and the recurring jobs begin without. Then PostgreSQL is vacuumed, for all contenders alike. If jobs
are prefilled, the worker is kept from work meanwhile, and its process continues. Tables show medians, with the smallest and
the largest of all runs if there were several. A run in which not every job ran and finished exactly once counts as failed and
gives no figure.`;

const NOT_COMPARABLE = `## What is not the same

- **History.** Mainspring keeps every job, execution and attempt, with its worker and times. pg-boss and River keep finished
  jobs. Graphile Worker and BullMQ delete a job when it is done, so you cannot look at it later.
- **Place of the work.** A peer is a library in the worker's process. Mainspring is a server that any number of workers and
  clients share, so its jobs cross two more sockets. "Worker inside" is Mainspring in the form of the peers: one process.
- **Arrival of jobs.** Mainspring gets them over HTTP in both forms. The peers get them by a call of their library, which writes
  to the store itself (River's in a process of its own); that CPU is the caller's and is in no table but that of submits.
- **"Done" and the disk.** PostgreSQL with fsync, and Redis with appendfsync always, have a finish on disk before it counts.
  With everysec, a power cut loses up to a second of it.
- **Batches of finishes.** pg-boss runs and finishes a batch of a thousand at once, so one slow job holds up a thousand.
  Graphile Worker gives up to 500 jobs to one process, which keeps them for hours when it dies.`;

/** Only where somebody has told it. */
const WHY = [
  "## Why\n\n[internals/performance.md](internals/performance.md) explains where the time goes, what was tried, and what did not help.",
];

/** Writes the page, its pictures, and the figures as JSON. The figures of the console come from the file that `console --json` wrote there. */
export async function writeReport(docs: string, measured: Measured): Promise<void> {
  const folder = join(docs, "performance");
  await mkdir(folder, { recursive: true });
  const plots = new Map(measured.results.map((result) => [result.name, plotsOf(result)]));
  for (const { file, svg } of [...plots.values()].flat()) await writeFile(join(folder, file), svg);
  const ofConsole = await readConsole(join(folder, "console.json"));
  const why = existsSync(join(docs, "internals", "performance.md")) ? WHY : [];
  await writeFile(join(docs, "performance.md"), `${[...pageOf(measured, plots, ofConsole), ...why].join("\n\n")}\n`);
  await writeJson(join(folder, "results.json"), measured);
}

/** @param ofConsole null: the console was not measured */
function pageOf(
  measured: Measured,
  plots: ReadonlyMap<string, readonly Plot[]>,
  ofConsole: ConsoleMeasured | null,
): string[] {
  const { results, isQuick } = measured;
  const sections = SCENARIOS.flatMap(({ name, about }) => {
    const cases = results.filter(({ scenario }) => scenario === name);
    if (cases.length === 0) return [];
    return [`## ${name}\n\n${about}`, ...cases.map((item) => caseOf(item, plots.get(item.name) ?? []))];
  });
  const last = ofConsole === null ? [NOT_COMPARABLE] : [consoleSection(ofConsole), NOT_COMPARABLE];
  return [introduction(warmUpJobsOf(isQuick)), machineOf(measured), goalsOf(results), ...sections, ...last];
}

function machineOf({ isQuick, machine, results }: Measured): string {
  const names = [...new Set(results.flatMap(({ outcomes }) => outcomes.map(({ contender }) => contender)))];
  const contenders = names.map(contenderOf).map(({ title, settings }) => [title, settings]);
  const settings = Object.entries(POSTGRES_SETTINGS).map(([name, value]) => `\`${name} = ${value}\``);
  const scale = isQuick ? " It was a quick one: every case is small, and says less than it could." : "";
  return [
    "## Where and with what",
    `${whenMeasured(results)}${scale}`,
    table(["", ""], Object.entries(machine)),
    `PostgreSQL has its default settings except ${settings.join(", ")}. All connections to it and to Redis are Unix sockets.`,
    table(["contender", "settings"], contenders),
  ].join("\n\n");
}

function goalsOf(results: readonly CaseResult[]): string {
  const rows = judgeGoals(results).map(({ goal, title, measured, bestPeer, reached }) => [
    title,
    FIGURES[goal.figure].title,
    contenderOf(goal.contender).title,
    formatted(goal.figure, goal.goal),
    formatted(goal.figure, measured),
    bestPeer === null ? "–" : formatted(goal.figure, bestPeer),
    reached,
  ]);
  if (rows.length === 0) return "## Goals\n\nNone of them was measured.";
  const head = ["case", "figure", "contender", "goal", "measured", "best peer", "reached"];
  const note =
    'The goals were set on another machine of this kind. "Against the peers" means that the figure misses the goal, but its ratio to the best peer of this report is at least as good as the ratio of the goal to the best peer there.';
  return ["## Goals", table(head, rows), note].join("\n\n");
}

function caseOf({ title, outcomes }: CaseResult, plots: readonly Plot[]): string {
  const names = (Object.keys(FIGURES) as FigureName[]).filter((name) =>
    outcomes.some(({ spreads }) => name in spreads),
  );
  const rows = outcomes.map(({ contender, spreads, occasions, unsupported }) => [
    contenderOf(contender).title,
    ...names.map((name) => {
      const spread = spreads[name];
      if (spread !== undefined) return spreadText(name, spread);
      if (unsupported !== undefined) return "–";
      return occasions.every(({ runs }) => runs.length === 0) ? "failed" : "–";
    }),
  ]);
  const reasons = outcomes.flatMap(({ contender, unsupported }) =>
    unsupported === undefined ? [] : [`- ${contenderOf(contender).title} has no figure: ${unsupported}`],
  );
  const failures = outcomes.flatMap(({ contender, occasions }) =>
    occasions
      .flatMap((occasion) => occasion.failures)
      .map((reason) => `- ${contenderOf(contender).title} failed in a run: ${reason}`),
  );
  return [
    `### ${title[0]?.toUpperCase()}${title.slice(1)}`,
    table(["", ...names.map((name) => FIGURES[name].title)], rows),
    occasionsOf(outcomes),
    ...[reasons, failures].filter((lines) => lines.length > 0).map((lines) => lines.join("\n")),
    ...plots.map(({ file, alt }) => `![${alt}](performance/${file})`),
  ].join("\n\n");
}
