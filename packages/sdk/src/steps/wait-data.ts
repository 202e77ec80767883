import type { Runtime } from "../runtime.ts";
import type { StepDuration, StepName, WaitForSignalOptions } from "./step-context.ts";
import { stepName } from "./step-data.ts";
import { StepError } from "./step-error.ts";

/** Longest time that a step waits, in milliseconds. */
export const WAIT_MAX_MS = 366 * 24 * 60 * 60 * 1_000;
/** Largest number of names of signals that a step waits for. */
export const WAIT_SIGNALS_MAX = 100;
/** Longest name of a signal, in UTF-16 code units. */
export const WORD_CHARS_MAX = 128;

const UNITS_MS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1_000, ms: 1 } as const;
const UNITS = Object.keys(UNITS_MS) as (keyof typeof UNITS_MS)[];

/** Arguments of a wait for signals, checked and complete. */
export interface SignalWait {
  name: string;
  signals: readonly string[];
  timeoutMs: number;
}

/** @returns milliseconds; 0 or less: no wait. @throws {StepError} InvalidWait */
export function durationMs(step: string, duration: StepDuration): number {
  const ms = typeof duration === "number" ? duration : sumOf(duration);
  if (ms <= WAIT_MAX_MS) return ms;
  const right =
    'a number of milliseconds, or an object such as { days: 3, hours: 12 } with the fields "days", "hours", ';
  throw invalid(step, `sleep for ${right}"minutes", "seconds" and "ms", at most 366 days, not ${shown(duration)}`);
}

/** @returns milliseconds from now by the wall clock; 0 or less: the time has passed. @throws {StepError} InvalidWait */
export function delayUntil(step: string, date: Date, runtime: Runtime): number {
  const atMs = date instanceof Date ? date.getTime() : Number.NaN;
  if (Number.isNaN(atMs)) throw invalid(step, `sleep until a valid Date, not ${shown(date)}`);
  const delayMs = atMs - runtime.now();
  if (delayMs <= WAIT_MAX_MS) return delayMs;
  throw invalid(step, `sleep until a time at most 366 days from now, not until ${date.toISOString()}`);
}

/** @throws {StepError} InvalidWait, InvalidStep */
export function signalWait(names: string | readonly string[], options: WaitForSignalOptions): SignalWait {
  const signals = signalNames(names);
  const { timeoutMs = WAIT_MAX_MS, name = signals.join("|") } = options;
  const text = waitName(name, options);
  if (typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs <= WAIT_MAX_MS)
    return { name: text, signals, timeoutMs };
  const right = `a timeoutMs of more than 0 and at most ${WAIT_MAX_MS} milliseconds, which are 366 days`;
  throw invalid(text, `wait with ${right}, not ${shown(timeoutMs)}`);
}

function waitName(name: StepName, options: WaitForSignalOptions): string {
  try {
    return stepName(name);
  } catch (error) {
    if (options.name !== undefined) throw error;
    const why = "the names of the signals together are no name of a step";
    throw new StepError("InvalidStep", `${why}: give the step one, as waitForSignal(names, { name: "approval" })`);
  }
}

/** Names without repetitions. @throws {StepError} InvalidWait */
function signalNames(names: string | readonly string[]): string[] {
  const list: unknown[] = Array.isArray(names) ? [...new Set(names)] : [names];
  const wrong = list.find((name) => !isSignalName(name));
  const isCountRight = list.length >= 1 && list.length <= WAIT_SIGNALS_MAX;
  if (isCountRight && list.every(isSignalName)) return list;
  const right = `1 to ${WAIT_SIGNALS_MAX} names of signals, each a text of 1 to ${WORD_CHARS_MAX} characters without U+0000`;
  const given = isCountRight ? shown(wrong) : `${list.length} names`;
  throw new StepError("InvalidWait", `waitForSignal takes ${right}, not ${given}`);
}

function isSignalName(name: unknown): name is string {
  if (typeof name !== "string" || name.length < 1 || name.length > WORD_CHARS_MAX) return false;
  // A database stores neither, so no signal has such a name.
  return !name.includes("\0") && name.isWellFormed();
}

function sumOf(duration: Exclude<StepDuration, number>): number {
  const given = Object.entries(Object(duration) as Record<string, unknown>).filter(([, count]) => count !== undefined);
  const isRight = given.every(([unit, count]) => UNITS.includes(unit as never) && typeof count === "number");
  if (!isRight || given.length === 0) return Number.NaN;
  return UNITS.reduce((sum, unit) => sum + (duration[unit] ?? 0) * UNITS_MS[unit], 0);
}

function invalid(step: string, right: string): StepError {
  return new StepError("InvalidWait", `step ${JSON.stringify(step)}: ${right}`);
}

function shown(value: unknown): string {
  try {
    const text = typeof value === "object" ? JSON.stringify(value) : undefined;
    return (text ?? String(value)).slice(0, 200);
  } catch {
    return "this value";
  }
}
