import type { IngestStatus } from "@mainspring/sdk";
import { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { instant } from "../arguments/option-values.ts";
import { sentence } from "../text/output.ts";

/** Commands for the way of jobs through Kafka. */
export function ingestCommand(): Command {
  return new Command("ingest")
    .description("look at how far jobs that come through Kafka are taken in, and take them in again")
    .addCommand(statusCommand())
    .addCommand(seekCommand());
}

function statusCommand(): Command {
  return clientCommand("status")
    .description("show the position and the lag of each partition of the topic of requests")
    .action(async (options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const status = await client.ingest.status();
      output.print(status, () => statusText(status));
    });
}

function seekCommand(): Command {
  return clientCommand("seek")
    .description("read the topic of requests again from a time on; what was taken in is not taken in twice")
    .requiredOption("--to <time>", "as 2026-07-01T12:00:00Z", instant)
    .action(async ({ to, ...options }: ConnectionOptions & { to: string }) => {
      const { client, output } = connect(options);
      const moves = await client.ingest.seek(new Date(to));
      output.print({ partitions: moves }, () => {
        if (moves.length === 0) return "no record that is taken in is as young: nothing was changed";
        return moves
          .map((move) => sentence`partition ${move.partition}: from ${move.from} back to ${move.to}`)
          .join("\n");
      });
    });
}

function statusText({ mode, partitions }: IngestStatus): string {
  const lines = partitions.map(({ partition, next, end, lag }) => {
    return sentence`partition ${partition}  next ${next}  end ${end}  lag ${lag}`;
  });
  return [sentence`mode ${mode}`, ...lines].join("\n");
}
