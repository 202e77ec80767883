import { closeSync, fstatSync, openSync, readSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * File to which PostgreSQL writes its log. The log is no pipe, because a server whose event loop is blocked must not
 * block PostgreSQL.
 */
export interface ServerLog {
  /** Output for `spawn`: the file, or "ignore" if it cannot be opened. */
  readonly output: number | "ignore";
  /** The last few lines since the file was opened, joined to one line. */
  tail(): string;
  close(): void;
}

const ROTATE_BYTES = 8 * 1024 * 1024;
const TAIL_LINES = 6;
const TAIL_BYTES = 1_500;

/** Opens `postgres.log` in `home` for one run of PostgreSQL; over 8 MiB the old file becomes `postgres.log.old`. */
export function openServerLog(home: string): ServerLog {
  const path = join(home, "postgres.log");
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > ROTATE_BYTES) renameSync(path, `${path}.old`);
    const output = openSync(path, "a+", 0o600);
    const start = fstatSync(output).size;
    return { output, tail: () => lastLines(readEnd(output, start)), close: () => closeSync(output) };
  } catch (error) {
    // A full disk or a removed folder also stops PostgreSQL, so this error is part of the reason.
    const message = `no log (${(error as Error).message})`;
    return { output: "ignore", tail: () => message, close: () => {} };
  }
}

/** Reads through the descriptor, because the file may have lost its name meanwhile. */
function readEnd(descriptor: number, start: number): string {
  const end = fstatSync(descriptor).size;
  const buffer = Buffer.alloc(Math.min(TAIL_BYTES, Math.max(0, end - start)));
  readSync(descriptor, buffer, 0, buffer.length, end - buffer.length);
  return buffer.toString("utf8");
}

function lastLines(text: string): string {
  // The time and process id at the start of each line are useless in a message.
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.replace(/^.*? \[\d+\] /, ""));
  return lines.slice(-TAIL_LINES).join("; ");
}
