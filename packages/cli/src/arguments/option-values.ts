import { EVENT_KINDS, type EventKind, PRIORITIES } from "@mainspring/contract/enums";
import { InvalidArgumentError, Option } from "commander";

/** Parsers for values of options. Each throws InvalidArgumentError, which commander shows with the option's name. */

const UNITS_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses `500ms`, `10s`, `5m`, `2h`, `1d`. @returns milliseconds */
export function durationMs(text: string): number {
  const [, amount = "", unit = ""] = /^(\d+(?:[.]\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  if (unitMs === undefined) throw new InvalidArgumentError("Give a number and its unit: 500ms, 10s, 5m, 2h or 1d.");
  return Math.round(Number(amount) * unitMs);
}

/** @returns parser of whole numbers in that range */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };
}

/** @returns parser of numbers in that range, which may have decimals */
export function decimal(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+([.]\d+)?$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Give a number from ${min} to ${max}.`);
  };
}

/** @returns parser of limits in that range; `none` removes a limit */
export function limit(min: number, max: number, isWhole: boolean): (text: string) => number | "none" {
  return (text) => {
    if (text.toLowerCase() === "none") return "none";
    const value = Number(text);
    const isNumber = isWhole ? /^\d+$/.test(text) : /^\d+([.]\d+)?$/.test(text);
    if (isNumber && value >= min && value <= max) return value;
    const kind = isWhole ? "whole number" : "number";
    throw new InvalidArgumentError(`Give a ${kind} from ${min} to ${max}, or none to take the limit away.`);
  };
}

type PriorityName = keyof typeof PRIORITIES;
const PRIORITY_NAMES = Object.keys(PRIORITIES) as PriorityName[];

/** Parses a priority: 0 to 9, or a name. */
export function priority(text: string): number | PriorityName {
  const name = PRIORITY_NAMES.find((known) => known === text.toUpperCase());
  if (name !== undefined) return name;
  if (/^[0-9]$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`Give 0 to 9, or one of ${PRIORITY_NAMES.join(", ")}.`);
}

/** Parses an instant in ISO 8601 with its zone. */
export function instant(text: string): string {
  const zoned = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d([.]\d+)?)?(Z|[+-]\d\d:?\d\d)$/i.test(text);
  if (zoned && !Number.isNaN(Date.parse(text))) return text;
  throw new InvalidArgumentError("Give a time with its zone: 2030-01-31T08:00:00Z or 2030-01-31T08:00:00+01:00.");
}

/** Parses the name of an existing schema of PostgreSQL, which may need quotes in SQL. */
export function schemaName(text: string): string {
  if (text !== "" && Buffer.byteLength(text) <= 63 && !text.includes("\0")) return text;
  throw new InvalidArgumentError("Give the name of a schema of PostgreSQL: public.");
}

/** Parses a month, such as `2026-03`. */
export function month(text: string): string {
  if (/^(19[7-9]|[2-9]\d\d)\d-(0[1-9]|1[0-2])$/.test(text)) return text;
  throw new InvalidArgumentError("Give a year and a month: 2026-03.");
}

export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** Whether a text is the prefix of an id, of 4 characters or more, or a whole id. */
export function isIdPrefix(text: string): boolean {
  return isId(text) || (/^[0-9a-f-]{4,35}$/i.test(text) && !text.startsWith("-"));
}

/** Parses the id of a job or an execution, or a prefix of it. */
export function id(text: string): string {
  if (isIdPrefix(text)) return text;
  throw new InvalidArgumentError(
    "Give an id as `list` shows it, or its beginning: 01890a5d-ac96-774b-bcce-b302099a8057, or 01890a5d-ac96-77.",
  );
}

/** Parses a whole id. */
export function wholeId(text: string): string {
  if (isId(text)) return text;
  throw new InvalidArgumentError("Give an id as `list` shows it: 01890a5d-ac96-774b-bcce-b302099a8057.");
}

/** @returns parser of these words in any case, which returns the word as the list has it */
function oneOf(words: readonly string[]): (text: string) => string {
  return (text) => {
    const found = words.find((word) => word.toLowerCase() === text.toLowerCase());
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Allowed choices are ${words.join(", ")}.`);
  };
}

/** Creates an option whose value is one of these words, in any case. */
export function choiceOption(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, description).choices(words).argParser(oneOf(words));
}

/** Parses a kind of events, which may be repeated. */
export function eventKinds(text: string, before: EventKind[] = []): EventKind[] {
  return [...before, oneOf(EVENT_KINDS)(text) as EventKind];
}

/** Parses several ids, one after the other. */
export function ids(text: string, before: string[] = []): string[] {
  return [...before, id(text)];
}

/** Adds a value to an option that may be repeated. */
export function repeated(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** Parses `key=value`, which may be repeated. */
export function label(text: string, before: Record<string, string> = {}): Record<string, string> {
  const equals = text.indexOf("=");
  if (equals < 1) throw new InvalidArgumentError("Give key=value.");
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}
