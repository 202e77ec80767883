import type { DstPolicy, PreviewedFire } from "@mainspring/sdk";
import { Command, Option } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../connection-options.ts";
import { instant, integer } from "../option-values.ts";
import { table } from "../output.ts";

interface PreviewOptions extends ConnectionOptions {
  timezone: string;
  after?: string;
  count: number;
  gap: NonNullable<DstPolicy["gap"]>;
  fold: NonNullable<DstPolicy["fold"]>;
}

export function schedulesCommand(): Command {
  return new Command("schedules").description("look at schedules before trusting them").addCommand(previewCommand());
}

function previewCommand(): Command {
  return clientCommand("preview")
    .description("when a schedule would fire, and what clock changes do to it")
    .argument("<schedule>", 'a cron expression, in quotes: "30 2 * * *", "0 9 * * MON-FRI", "@daily"')
    .option("--timezone <name>", "the clocks it goes by, as Europe/Berlin", "UTC")
    .option("--count <count>", "how many fires", integer(1, 1_000), 10)
    .option("--after <time>", "only fires after (default: now)", instant)
    .addOption(choice("--gap <choice>", "a time that the clocks skip: fire once after it, or not", ["SHIFT", "SKIP"]))
    .addOption(choice("--fold <choice>", "a time that comes twice: when to fire", ["FIRST", "LAST", "BOTH"]))
    .action(preview);
}

/** The first one is the default. */
function choice(flags: string, description: string, choices: readonly string[]): Option {
  return new Option(flags, description).choices(choices).default(choices[0]);
}

async function preview(schedule: string, options: PreviewOptions): Promise<void> {
  const { timezone, after, count, gap, fold, ...connection } = options;
  const { client, output } = connect(connection);
  const request = { schedule, timezone, count, dst: { gap, fold }, ...(after !== undefined && { after }) };
  const fires = await client.previewSchedule(request);
  output.print({ fires }, () => firesText(fires));
}

function firesText(fires: readonly PreviewedFire[]): string {
  if (fires.length === 0) return "no fires";
  const rows = fires.map(({ at, local, note = "" }) => [local, at.replace(".000Z", "Z"), note]);
  return table(["LOCAL", "UTC", "CLOCK CHANGE"], rows);
}
