import { openSync, readFileSync, writeSync } from "node:fs";

/** A file that one process appends to, a line an event. What was written outlives a SIGKILL of the process. */
export class HistoryFile<E extends object> {
  readonly #descriptor: number;

  constructor(path: string) {
    this.#descriptor = openSync(path, "a");
  }

  write(event: E): void {
    writeSync(this.#descriptor, `${JSON.stringify(event)}\n`);
  }
}

/** All events of a file, in the order they were written. A line that was cut off by a kill is left out. */
export function readHistory<E extends object>(path: string): E[] {
  const lines = readFileSync(path, "utf8").split("\n");
  // What stands after the last newline is empty, or the line that was being written.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as E);
}
