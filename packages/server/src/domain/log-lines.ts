import { ATTEMPT_LOG_BYTES_MAX, ATTEMPT_LOG_LINES_MAX } from "@mainspring/contract/limits";
import type { EpochMs } from "./ids.ts";

/** A line that a handler logged, at most 8,192 characters, without NUL and halves of surrogate pairs. */
export interface KeptLine {
  /** Time at which the gateway received the line. */
  at: EpochMs;
  level: string;
  line: string;
}

/** Size of a line as the limit of an attempt counts it: bytes of its text in UTF-8. */
export function bytesOf({ line }: KeptLine): number {
  let bytes = line.length;
  for (let index = 0; index < line.length; index++) {
    const unit = line.charCodeAt(index);
    // Each half of a surrogate pair has two of the four bytes of its character.
    if (unit >= 0x80) bytes += unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
}

/** Number of lines at the beginning that an attempt may not keep. @param bytes of all lines */
export function surplusOf(lines: readonly KeptLine[], bytes: number): number {
  let surplus = Math.max(0, lines.length - ATTEMPT_LOG_LINES_MAX);
  let left = bytes;
  for (let index = 0; index < surplus; index++) left -= bytesOf(lines[index] as KeptLine);
  while (left > ATTEMPT_LOG_BYTES_MAX) left -= bytesOf(lines[surplus++] as KeptLine);
  return surplus;
}

/** The last lines that an attempt may keep. */
export function lastLines(lines: readonly KeptLine[]): readonly KeptLine[] {
  const surplus = surplusOf(
    lines,
    lines.reduce((sum, line) => sum + bytesOf(line), 0),
  );
  return surplus === 0 ? lines : lines.slice(surplus);
}
