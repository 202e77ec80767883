import { closeSync, openSync, readSync, writeSync } from "node:fs";

/** A file to which one process appends events, one per line. Written events survive a SIGKILL of the process. */
export class HistoryFile<E extends object> {
  readonly #descriptor: number;

  constructor(path: string) {
    this.#descriptor = openSync(path, "a");
  }

  write(event: E): void {
    writeSync(this.#descriptor, `${JSON.stringify(event)}\n`);
  }
}

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 10;

/** Reads a file while it is being written. */
export class HistoryReader<E extends object> {
  readonly #path: string;
  #position = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Events written since the last call, in order, without an incomplete last line. */
  next(): E[] {
    const file = openSync(this.#path, "r");
    try {
      const events: E[] = [];
      for (let lines = this.#lines(file); lines.length > 0; lines = this.#lines(file)) {
        for (const line of lines) events.push(JSON.parse(line) as E);
      }
      return events;
    } finally {
      closeSync(file);
    }
  }

  #lines(file: number): string[] {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const read = chunk.subarray(0, readSync(file, chunk, 0, CHUNK_BYTES, this.#position));
    const whole = read.subarray(0, read.lastIndexOf(NEWLINE) + 1);
    this.#position += whole.length;
    return whole.toString("utf8").split("\n").slice(0, -1);
  }
}

/** All events of a file so far. */
export function readHistory<E extends object>(path: string): E[] {
  return new HistoryReader<E>(path).next();
}
