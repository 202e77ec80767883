import type { DstPolicy } from "@mainspring/sdk";
import { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { instant, integer } from "../arguments/option-values.ts";
import { choice } from "../arguments/recurrence-options.ts";
import { scheduleText } from "../text/schedule-text.ts";

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
    .description("what a schedule means, when it would fire, and what clock changes do to it")
    .argument("<schedule>", 'a cron expression, in quotes: "30 2 * * *", "0 9 * * MON-FRI", "@daily"')
    .option("--timezone <name>", "the clocks it goes by, as Europe/Berlin", "UTC")
    .option("--count <count>", "how many fires", integer(1, 1_000), 10)
    .option("--after <time>", "only fires after (default: now)", instant)
    .addOption(
      choice("--gap <choice>", "a time that the clocks skip: fire once after it, or not", ["SHIFT", "SKIP"]).default(
        "SHIFT",
      ),
    )
    .addOption(
      choice("--fold <choice>", "a time that comes twice: when to fire", ["FIRST", "LAST", "BOTH"]).default("FIRST"),
    )
    .action(preview);
}

async function preview(schedule: string, options: PreviewOptions): Promise<void> {
  const { timezone, after, count, gap, fold, ...connection } = options;
  const { client, output } = connect(connection);
  const request = { schedule, timezone, count, dst: { gap, fold }, ...(after !== undefined && { after }) };
  const described = await client.describeSchedule(request);
  output.print(described, () => scheduleText(described));
}
