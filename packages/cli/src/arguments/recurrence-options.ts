import { MISFIRES, OVERLAPS } from "@mainspring/contract/enums";
import type { CronSchedule, IntervalSchedule, RecurrenceOptions } from "@mainspring/sdk";
import { type Command, Option } from "commander";
import { given } from "./given.ts";
import { choiceOption, durationMs, instant, integer } from "./option-values.ts";

/** Options of the command line for recurring jobs. */
export interface RecurrenceGiven {
  schedule?: string;
  timezone?: string;
  gap?: "SHIFT" | "SKIP";
  fold?: "FIRST" | "LAST" | "BOTH";
  every?: number;
  everyMode?: "FIXED_RATE" | "FIXED_DELAY";
  startAt?: string;
  endAt?: string;
  maxFires?: number;
  spread?: number;
  overlap?: NonNullable<RecurrenceOptions["overlap"]>;
  misfire?: NonNullable<RecurrenceOptions["misfire"]>;
  misfireGrace?: number;
  maxCatchUp?: number;
  startWithin?: number;
}

export function withRecurrence(command: Command): Command {
  return command
    .option("--schedule <cron>", 'recurs by a cron expression, in quotes: "0 9 * * MON-FRI"')
    .option("--timezone <name>", "the clocks that --schedule goes by, as Europe/Berlin (default: UTC)")
    .addOption(choice("--gap <choice>", "a time that the clocks skip (default: SHIFT)", ["SHIFT", "SKIP"]))
    .addOption(choice("--fold <choice>", "a time that comes twice (default: FIRST)", ["FIRST", "LAST", "BOTH"]))
    .addOption(new Option("--every <duration>", "recurs at this interval, as 5m").argParser(durationMs))
    .addOption(choice("--every-mode <mode>", "what --every counts from", ["FIXED_RATE", "FIXED_DELAY"]))
    .option("--start-at <time>", "nothing is planned before", instant)
    .option("--end-at <time>", "nothing is planned then or later", instant)
    .option("--max-fires <count>", "so many fires in all", integer(1, 2 ** 31 - 1))
    .option("--spread <duration>", "spreads a herd: every fire is later by less than this", durationMs)
    .addOption(choice("--overlap <choice>", "when the execution before is not final (default: SKIP)", OVERLAPS))
    .addOption(choice("--misfire <choice>", "of what passed while nothing could fire (default: FIRE_ONCE)", MISFIRES))
    .option("--misfire-grace <duration>", "so much later is no misfire (default: 60s)", durationMs)
    .option("--max-catch-up <count>", "what FIRE_ALL runs at most (default: 100)", integer(1, 10_000))
    .option("--start-within <duration>", "skip a fire that has not started so long after its time", durationMs);
}

export function choice(flags: string, description: string, choices: readonly string[]): Option {
  return choiceOption(flags, description, choices);
}

/** @returns schedule of the job; null: the job runs once. The server reports options that do not fit together. */
export function recurrenceOf(said: RecurrenceGiven): ((CronSchedule | IntervalSchedule) & RecurrenceOptions) | null {
  const { gap, fold } = said;
  const fields: object = given({
    ...{ schedule: said.schedule, timezone: said.timezone, everySec: seconds(said.every), everyMode: said.everyMode },
    dst: gap === undefined && fold === undefined ? undefined : given({ gap, fold }),
    ...{ startAt: said.startAt, endAt: said.endAt, maxFires: said.maxFires, spreadSec: seconds(said.spread) },
    ...{ overlap: said.overlap, misfire: said.misfire, misfireGraceSec: seconds(said.misfireGrace) },
    ...{ maxCatchUp: said.maxCatchUp, startWithinSec: seconds(said.startWithin) },
  });
  // With neither schedule nor everySec, the server reports which of them is missing.
  return Object.keys(fields).length > 0 ? (fields as CronSchedule & RecurrenceOptions) : null;
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}
