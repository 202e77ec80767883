import {
  STEP_NAME_MAX_CHARS,
  STEPS_MAX,
  WAIT_MAX_MS,
  WAIT_SIGNALS_MAX,
  WAITS_MAX_BYTES,
  WORD_CHARS_MAX,
} from "@mainspring/contract/limits";
import type { Wait } from "@mainspring/proto";
import type { ReportedWait } from "../../ports/step-messages.ts";

const DAY_MS = 86_400_000;

/** The waits of a suspended attempt. @returns a text: the fault of waits that no SDK would send */
export function waitsOf(waits: readonly Wait[]): ReportedWait[] | string {
  const names = new Set(waits.map(({ name }) => name));
  if (waits.length === 0 || waits.length > STEPS_MAX) {
    return `a suspended attempt has 1 to ${STEPS_MAX} waits, and this one has ${waits.length}`;
  }
  if (names.size < waits.length) return "each wait of an attempt needs its own name";
  const reported = waits.map(waitOf);
  const fault = reported.find((wait) => typeof wait === "string");
  if (fault !== undefined) return fault;
  const bytes = waits.reduce((sum, wait) => sum + Buffer.byteLength(JSON.stringify([wait.name, ...wait.signals])), 0);
  if (bytes > WAITS_MAX_BYTES) {
    return `the waits of an attempt have ${bytes} bytes of names of steps and signals; ${WAITS_MAX_BYTES} may be`;
  }
  return reported as ReportedWait[];
}

function waitOf({ name, delayMs, signals, recorded }: Wait): ReportedWait | string {
  const text = "without NUL and half surrogate pairs";
  if (!isWord(name, STEP_NAME_MAX_CHARS)) {
    return `a wait needs a name of 1 to ${STEP_NAME_MAX_CHARS} characters, ${text}`;
  }
  if (delayMs > WAIT_MAX_MS) return `a wait takes at most ${WAIT_MAX_MS / DAY_MS} days, and this one ${delayMs} ms`;
  if (signals.length > WAIT_SIGNALS_MAX || !signals.every((signal) => isWord(signal, WORD_CHARS_MAX))) {
    return `a wait is for at most ${WAIT_SIGNALS_MAX} signals of 1 to ${WORD_CHARS_MAX} characters, ${text}`;
  }
  return { name, delayMs: Number(delayMs), signals, isRecorded: recorded };
}

/** Whether the store can keep the text, and it has 1 to `maxChars` characters. */
export function isWord(text: string, maxChars: number): boolean {
  return text !== "" && text.length <= maxChars && !text.includes("\u0000") && text.isWellFormed();
}
