import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { nextFire, readCron, type Schedule } from "@mainspring/server/testing";
import { CronExpressionParser } from "cron-parser";
import type { Zone } from "luxon";
import { type Case, FIRES } from "./cases.ts";

/** Fires of a case, in ISO 8601 to the second; a text: the implementation's reason for refusing the case. */
export type Fires = string[] | string;

/** The implementations that are compared. */

export function mainspring({ cron, timezone, after }: Case): Fires {
  const read = readCron(cron);
  if ("message" in read) return read.message;
  const times = { type: "CRON", cron, timezone, dst: { gap: "SHIFT", fold: "FIRST" } } as const;
  const schedule: Schedule = { times, startAt: null, endAt: null, maxFires: null, shiftMs: 0 };
  const found: string[] = [];
  for (let at: number | null = Date.parse(after); found.length < FIRES; found.push(iso(at))) {
    at = nextFire(schedule, at, 0);
    if (at === null) return "never fires";
  }
  return found;
}

/** Fires by cron-parser and luxon (JavaScript). @param zone time zone; default: the one of the platform's data */
export function cronParser({ cron, timezone, after }: Case, zone?: Zone): Fires {
  try {
    // Luxon accepts a zone object in place of a name, which the types of cron-parser do not show.
    const tz = (zone ?? timezone) as string;
    const expression = CronExpressionParser.parse(cron, { currentDate: after, tz });
    return Array.from({ length: FIRES }, () => iso(expression.next().getTime()));
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Fires by cronsim, zoneinfo and the package tzdata (Python). @throws {Error} `pip` or `python3` is missing or fails
 */
export function cronsim(cases: readonly Case[]): Fires[] {
  const asked = cases.map((one) => ({ ...one, fires: FIRES }));
  return python("fires.py", asked) as Fires[];
}

/**
 * Runs a program of this folder; returns one answer for each question.
 * @throws {Error} `pip` or `python3` is missing or fails
 */
export function python(program: string, questions: readonly unknown[]): unknown[] {
  const input = questions.map((question) => JSON.stringify(question)).join("\n");
  const env = { ...process.env, PYTHONPATH: installed() };
  const options = { input, env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 } as const;
  const output = execFileSync("python3", [fileURLToPath(new URL(program, import.meta.url))], options);
  return output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

/** Folder of the pinned Python packages, installed if missing. */
function installed(): string {
  const folder = fileURLToPath(new URL("../../node_modules/.cache/cron-oracle-2.8-2026.6", import.meta.url));
  const requirements = fileURLToPath(new URL("requirements.txt", import.meta.url));
  if (!existsSync(folder)) {
    const args = [
      "install",
      "--quiet",
      "--root-user-action=ignore",
      "--no-deps",
      "--require-hashes",
      "--target",
      folder,
      "-r",
      requirements,
    ];
    execFileSync("pip", args, { stdio: ["ignore", "ignore", "pipe"] });
  }
  return folder;
}

function iso(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
