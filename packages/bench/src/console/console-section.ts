import { spreadOf } from "../figures.ts";
import { table } from "../report/words.ts";
import {
  CONSOLE_PAGES,
  type ConsoleCost,
  type ConsoleMeasured,
  type FirstView,
  type ListStep,
} from "./console-measured.ts";

/** Largest share of a core that all consoles may cost the server, in percent. */
const COST_GOAL_PERCENT = 5;
/** Largest number of rows in the document, and longest task, in milliseconds. */
const ROWS_GOAL = 200;
const TASK_GOAL_MS = 50;

/** Section of the report about the web console, as Markdown. */
export function consoleSection(measured: ConsoleMeasured): string {
  const { costs, firstViews, list, rows, isQuick } = measured;
  const scale = isQuick ? " It was a quick one, and says less than it could." : "";
  return [
    "## console",
    `The [web console](guides/console.md) in Chromium, on a server whose store had ${number(rows)} finished executions before.${scale} ${whenOf(measured)}`,
    "### First view",
    "A page with an empty cache, on a processor slowed to a quarter and a network of 1.6 Mbit/s down, 0.75 Mbit/s up and 150 ms for each round trip. Bytes are as sent, until the page was ready for input. Times count from the start of the navigation.",
    table(["", ...firstViews.map(({ page }) => CONSOLE_PAGES[page].title)], rowsOfViews(firstViews)),
    "### List of executions",
    `The processor is not slowed. The document may have at most ${ROWS_GOAL} rows, and no task may take more than ${TASK_GOAL_MS} ms. The longest task is the median of all visits, with the range if there were several: a task also waits for the server, the store and the other processes of the browser, which share the processor with it.`,
    table(["", "rows in the document", "longest task ms", "reached"], list.map(rowOfStep)),
    "### Open consoles",
    `The page of a real Chromium was recorded, and its requests are sent again, with its headers and its session, by as many clients as there are consoles. All of them may cost the server's process at most ${COST_GOAL_PERCENT} % of a core. CPU is in percent of a core: medians, and the range if there were several runs.`,
    table(
      [
        "page",
        "consoles",
        "jobs/s",
        "requests/min of one",
        "KiB/min of one",
        "server without %",
        "server with %",
        "difference",
        "store without %",
        "store with %",
        "wrong answers",
        "reached",
      ],
      costs.map(rowOfCost),
    ),
  ].join("\n\n");
}

function whenOf({ at, commit, load, othersPercent }: ConsoleMeasured): string {
  const others = othersPercent === null ? "" : `, others took ${othersPercent.toFixed(0)} % of the CPU`;
  return `Measured at ${at.slice(0, 16).replace("T", " ")} UTC of ${commit}: load average before ${load.toFixed(1)}${others}.`;
}

function rowsOfViews(views: readonly FirstView[]): string[][] {
  const kinds = [...new Set(views.flatMap(({ transfers }) => transfers.map(({ kind }) => kind)))];
  const sum = (view: FirstView, field: "requests" | "bytes") =>
    view.transfers.reduce((total, transfer) => total + transfer[field], 0);
  const row = (what: string, of: (view: FirstView) => string) => [what, ...views.map(of)];
  return [
    row("requests", (view) => number(sum(view, "requests"))),
    row("KiB", (view) => kib(sum(view, "bytes"))),
    ...kinds.map((kind) =>
      row(`${kind.toLowerCase()}: requests, KiB`, ({ transfers }) => {
        const found = transfers.find((transfer) => transfer.kind === kind);
        return found === undefined ? "–" : `${found.requests}, ${kib(found.bytes)}`;
      }),
    ),
    row("first contentful paint ms", ({ firstContentfulPaintMs }) => number(firstContentfulPaintMs)),
    row("time to interactive ms", ({ interactiveMs }) => number(interactiveMs)),
    row("longest task ms", ({ longestTaskMs }) => taskText(longestTaskMs)),
    row("elements of the document", ({ domNodes }) => number(domNodes)),
  ];
}

function rowOfStep({ what, rows, longestTasksMs }: ListStep): string[] {
  const { min, median, max } = spreadOf(longestTasksMs);
  const isReached = rows <= ROWS_GOAL && median <= TASK_GOAL_MS;
  const range = min === max ? "" : ` (${taskText(min)} to ${taskText(max)})`;
  return [what, number(rows), taskText(median) + range, isReached ? "yes" : "**no**"];
}

function rowOfCost(cost: ConsoleCost): string[] {
  const added = spreadOf(cost.withPercent).median - spreadOf(cost.withoutPercent).median;
  const isReached = added <= COST_GOAL_PERCENT && cost.failures === 0;
  return [
    CONSOLE_PAGES[cost.page].title,
    number(cost.consoles),
    number(cost.jobsPerSec),
    number(cost.requestsPerMin),
    number(cost.kibPerMin),
    percentText(cost.withoutPercent),
    percentText(cost.withPercent),
    added.toFixed(1),
    percentText(cost.storeWithoutPercent),
    percentText(cost.storeWithPercent),
    number(cost.failures),
    isReached ? "yes" : "**no**",
  ];
}

function percentText(values: readonly number[]): string {
  const { min, median, max } = spreadOf(values);
  return values.length === 1 ? median.toFixed(1) : `${median.toFixed(1)} (${min.toFixed(1)} to ${max.toFixed(1)})`;
}

/** The browser reports tasks of 50 ms and more only. */
function taskText(ms: number): string {
  return ms === 0 ? "under 50" : ms.toFixed(1);
}

function kib(bytes: number): string {
  return (bytes / 1_024).toFixed(1);
}

function number(value: number): string {
  return Math.round(value).toLocaleString("en");
}
