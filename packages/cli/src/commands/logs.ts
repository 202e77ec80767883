import type { AttemptLogs, Client, ExecutionEvent, LoggedLine } from "@mainspring/sdk";
import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { executionIdOf } from "../arguments/id-argument.ts";
import { id, integer } from "../arguments/option-values.ts";
import { logLine, logsText } from "../text/log-text.ts";
import type { Output } from "../text/output.ts";

interface LogsOptions extends ConnectionOptions {
  attempt?: number;
  follow?: boolean;
}

type LogEvent = Extract<ExecutionEvent, { type: "log" }>;

export function logsCommand(): Command {
  return clientCommand("logs")
    .description("show what the handler has logged: the last 64 KiB of an attempt")
    .argument("<executionId>", "", id)
    .option("--attempt <number>", "of this attempt; default: the newest one", integer(1, 2 ** 31 - 1))
    .option("--follow", "go on with each new line, until the execution is final or the attempt has ended")
    .action(async (prefix: string, { attempt, follow, ...connection }: LogsOptions) => {
      const { client, output } = connect(connection);
      const executionId = await executionIdOf(client, prefix);
      if (follow) return await followLogs(client, output, executionId, attempt);
      const logs = await client.getLogs(executionId, given({ attempt }));
      output.print(logs, () => logsText(logs));
    });
}

/** @param wanted number of the only attempt to follow; undefined: the newest one and all later ones */
async function followLogs(client: Client, output: Output, executionId: string, wanted?: number): Promise<void> {
  const { attempt: newest } = await client.getExecution(executionId);
  const first = wanted ?? newest;
  const logs = first > 0 && first <= newest ? await client.getLogs(executionId, { attempt: first }) : null;
  if (logs?.url != null) output.print(logs, () => logsText(logs));
  const print = (attempt: number, line: LoggedLine) =>
    output.print({ executionId, attempt, ...line }, () => logLine(line));
  for (const line of logs?.lines ?? []) print(first, line);
  const shown = new ShownLines(first, logs);
  for await (const event of client.follow(executionId)) {
    if (wanted !== undefined && attemptBefore(event) >= wanted) return;
    if (event.type !== "log" || (wanted ?? event.attempt) !== event.attempt || shown.has(event)) continue;
    const { at, level, line } = event;
    print(event.attempt, { at, level, line });
  }
}

/** Number of the last attempt that has ended, as far as the event says it. */
function attemptBefore(event: ExecutionEvent): number {
  if (event.type === "attempt") return event.record.attempt;
  return event.type === "state" ? event.execution.attempt - 1 : 0;
}

/** Lines that were read and printed. The stream of events begins with some of them. */
class ShownLines {
  readonly #attempt: number;
  readonly #lastAt: string;
  /** Texts of the lines of the last instant: others of this instant may not have been printed. */
  readonly #last: string[];

  constructor(attempt: number, logs: AttemptLogs | null) {
    const lines = logs?.lines ?? [];
    this.#attempt = attempt;
    this.#lastAt = lines.at(-1)?.at ?? "";
    this.#last = lines.filter(({ at }) => at === this.#lastAt).map(({ line }) => line);
  }

  has({ attempt, at, line }: LogEvent): boolean {
    if (attempt !== this.#attempt) return attempt < this.#attempt;
    if (at !== this.#lastAt) return at < this.#lastAt;
    const index = this.#last.indexOf(line);
    if (index >= 0) this.#last.splice(index, 1);
    return index >= 0;
  }
}
