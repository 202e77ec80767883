import type { AttemptLogs, Client, ExecutionEvent, LoggedLine } from "@mainspring/sdk";
import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { executionIdOf } from "../arguments/id-argument.ts";
import { id, integer } from "../arguments/option-values.ts";
import { isNotFound } from "../failure.ts";
import { logLine, logsText } from "../text/log-text.ts";
import type { Output } from "../text/output.ts";

interface LogsOptions extends ConnectionOptions {
  attempt?: number;
  follow?: boolean;
}

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
  const logs = first > 0 && first <= newest ? await logsSoFar(client, executionId, first) : null;
  if (logs?.url != null) output.print(logs, () => logsText(logs));
  const shown = new ShownLines(first);
  const print = (attempt: number, line: LoggedLine) => {
    shown.add(attempt, line);
    output.print({ executionId, attempt, ...line }, () => logLine(line));
  };
  for (const line of logs?.lines ?? []) print(first, line);
  const unseen = shown.filter();
  for await (const event of client.follow(executionId)) {
    if (wanted !== undefined && attemptBefore(event) >= wanted) break;
    if (event.type !== "log" || (wanted ?? event.attempt) !== event.attempt || !unseen(event.attempt, event)) continue;
    const { at, level, line } = event;
    print(event.attempt, { at, level, line });
  }
  if (logs?.url != null) return;
  // An attempt may have begun and ended before the stream of events was open.
  const { attempt: last } = await client.getExecution(executionId);
  for (const attempt of new Set([shown.attempt, wanted ?? last])) {
    if (attempt === 0 || attempt > last) continue;
    const isUnseen = shown.filter();
    const { lines } = await client.getLogs(executionId, { attempt });
    for (const line of lines) if (isUnseen(attempt, line)) print(attempt, line);
  }
}

/** Logs of an attempt that has begun; null: the server does not know of it for certain yet, because its owner is slow to answer. */
function logsSoFar(client: Client, executionId: string, attempt: number): Promise<AttemptLogs | null> {
  return client.getLogs(executionId, { attempt }).catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });
}

/** Number of the last attempt that has ended, as far as the event says it. */
function attemptBefore(event: ExecutionEvent): number {
  if (event.type === "attempt") return event.record.attempt;
  return event.type === "state" ? event.execution.attempt - 1 : 0;
}

/** Lines that were printed, as far as others may repeat them. */
class ShownLines {
  /** Attempt of the last line, or the first one to follow. */
  attempt: number;
  #lastAt = "";
  /** Texts of the lines of the last instant: others of this instant may not have been printed. */
  #last: string[] = [];

  constructor(attempt: number) {
    this.attempt = attempt;
  }

  add(attempt: number, { at, line }: LoggedLine): void {
    if (attempt !== this.attempt || at !== this.#lastAt) this.#last = [];
    this.attempt = attempt;
    this.#lastAt = at;
    this.#last.push(line);
  }

  /** @returns a function that tells for one line after the other whether it has not been printed until now */
  filter(): (attempt: number, line: Pick<LoggedLine, "at" | "line">) => boolean {
    const { attempt: shown } = this;
    const [lastAt, last] = [this.#lastAt, [...this.#last]];
    return (attempt, { at, line }) => {
      if (attempt !== shown) return attempt > shown;
      if (at !== lastAt) return at > lastAt;
      const index = last.indexOf(line);
      if (index >= 0) last.splice(index, 1);
      return index < 0;
    };
  }
}
