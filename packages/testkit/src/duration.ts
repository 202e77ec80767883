import { MainspringError } from "@mainspring/sdk";

/** A time span: a number of milliseconds, or a text such as `3 days`, `90s`, `1h 30m`. */
export type Duration = number | string;

const UNIT_MS: readonly [name: RegExp, ms: number][] = [
  [/^(ms|milliseconds?)$/, 1],
  [/^(s|sec|secs|seconds?)$/, 1_000],
  [/^(m|min|mins|minutes?)$/, 60_000],
  [/^(h|hours?)$/, 3_600_000],
  [/^(d|days?)$/, 86_400_000],
  [/^(w|weeks?)$/, 604_800_000],
];
const PART = /(\d+(?:[.]\d+)?)\s*([a-z]+)\s*/giy;
const MAX_MS = 3_660 * 86_400_000;

/** @throws {MainspringError} BAD_OPTION: the value is no duration, or is more than ten years */
export function durationMs(name: string, duration: Duration): number {
  const ms = typeof duration === "number" ? duration : sumOf(duration);
  if (ms >= 0 && ms <= MAX_MS) return ms;
  const right = `milliseconds or a text as "3 days", "90s" or "1h 30m", from 0 to ten years`;
  throw new MainspringError("BAD_OPTION", `${name}: must be ${right}, not ${JSON.stringify(duration) ?? duration}`);
}

function sumOf(text: unknown): number {
  if (typeof text !== "string") return Number.NaN;
  const trimmed = text.trim().toLowerCase();
  const parts = [...trimmed.matchAll(PART)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join("") !== trimmed) return Number.NaN;
  return parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * unitMs(unit), 0);
}

function unitMs(unit: string): number {
  return UNIT_MS.find(([name]) => name.test(unit))?.[1] ?? Number.NaN;
}

/** Text of a duration for people, in its two greatest units. */
export function durationText(ms: number): string {
  const units = [...UNIT_MS.slice(0, 5)].reverse();
  const names = ["d", "h", "min", "s", "ms"];
  const parts: string[] = [];
  let leftMs = Math.round(ms);
  for (const [index, [, unit]] of units.entries()) {
    const count = Math.floor(leftMs / unit);
    leftMs -= count * unit;
    if (count > 0) parts.push(`${count} ${names[index]}`);
  }
  return parts.length === 0 ? "0 ms" : parts.slice(0, 2).join(" ");
}
