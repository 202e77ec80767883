import { readFile } from "node:fs/promises";
import type { Machine } from "../machine.ts";

export const CONSOLE_FORMAT = "mainspring-bench-console-2";

/** Pages of the console that are measured. */
export const CONSOLE_PAGES = {
  overview: { title: "overview", place: "" },
  executions: { title: "list of executions", place: "executions" },
} as const;

export type ConsolePage = keyof typeof CONSOLE_PAGES;

/** First view of a page with an empty cache, on a slowed processor and network. */
export interface FirstView {
  page: ConsolePage;
  /** Requests and bytes as sent, with headers, until the page was ready for input, by the browser's kind of resource. */
  transfers: { kind: string; requests: number; bytes: number }[];
  /** Time from the start of the navigation, in milliseconds. */
  firstContentfulPaintMs: number;
  interactiveMs: number;
  /** Longest task of the page's main thread, in milliseconds; 0: none took 50 ms. */
  longestTaskMs: number;
  domNodes: number;
}

/** CPU of the server with open consoles and without. */
export interface ConsoleCost {
  page: ConsolePage;
  consoles: number;
  /** Jobs that run meanwhile. */
  jobsPerSec: number;
  /** Requests that one real page sent in a minute, and their bytes as sent. */
  requestsPerMin: number;
  kibPerMin: number;
  /** Share of a core that the server's process took, in percent, of each run without and with the consoles. */
  withoutPercent: number[];
  withPercent: number[];
  /** Share of a core that the store took, in percent. */
  storeWithoutPercent: number[];
  storeWithPercent: number[];
  /** Answers that were not as the page expects them. */
  failures: number;
}

/** Part of all visits to the list of executions. */
export interface ListStep {
  what: string;
  /** Largest number of rows in the document. */
  rows: number;
  /** Longest task of the page's main thread in each visit, in milliseconds; 0: none took 50 ms. */
  longestTasksMs: number[];
}

/** Figures of the console: the content of the JSON file. */
export interface ConsoleMeasured {
  format: typeof CONSOLE_FORMAT;
  isQuick: boolean;
  machine: Machine;
  /** Start, in ISO 8601. */
  at: string;
  commit: string;
  /** Load average of the minute before. */
  load: number;
  /** Share of the machine's CPU that other processes used meanwhile, in percent; null: not known. */
  othersPercent: number | null;
  /** Executions in the store before. */
  rows: number;
  firstViews: FirstView[];
  list: ListStep[];
  costs: ConsoleCost[];
}

/** Figures of a file that `console --json` wrote. @returns null: there is no such file. @throws it is another file */
export async function readConsole(file: string): Promise<ConsoleMeasured | null> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (text === null) return null;
  const measured = JSON.parse(text) as Partial<ConsoleMeasured> | null;
  if (measured?.format === CONSOLE_FORMAT) return measured as ConsoleMeasured;
  throw new Error(`${file} is not what console --json writes (${CONSOLE_FORMAT}), or an older benchmark wrote it`);
}
