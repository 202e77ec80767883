import type { ExecutionSteps } from "@mainspring/sdk";
import { facts, table } from "./output.ts";

type Row = [kind: string, name: string, attempt: string, at: string, value: string];

const HEADINGS = ["KIND", "NAME", "ATTEMPT", "SINCE", "VALUE"];
/** Longest value that the table shows, in characters; the JSON output has all of it. */
const VALUE_MAX_CHARS = 80;

/** Text of the durable steps of an execution for people: its records, what it waits for, and signals for later steps. */
export function stepsText(of: Listed): string {
  const rows = rowsOf(of);
  if (rows.length === 0) return "no steps, no checkpoint and no signals";
  return `${facts([["execution", of.executionId]])}\n\n${table(HEADINGS, rows)}`;
}

/** A server of an earlier release lists neither waits nor signals. */
type Listed = Omit<ExecutionSteps, "waits" | "signals"> & Partial<ExecutionSteps>;

function rowsOf({ steps, checkpoint, waits = [], signals = [] }: Listed): Row[] {
  const rows = steps.map(({ name, attempt, recordedAt, value }): Row => {
    return ["STEP", name, String(attempt), recordedAt, shown(value)];
  });
  if (checkpoint !== null) {
    const { attempt, recordedAt, data } = checkpoint;
    rows.push(["CHECKPOINT", "-", String(attempt), recordedAt, shown(data)]);
  }
  for (const { name, attempt, recordedAt, until, signals: names } of waits) {
    const text = names.length === 0 ? `until ${until}` : `for ${names.join(", ")}, until ${until}`;
    rows.push([names.length === 0 ? "SLEEP" : "WAIT", name, String(attempt), recordedAt, text]);
  }
  for (const { signalId, name, data, acceptedAt } of signals) {
    rows.push(["SIGNAL", name, "-", acceptedAt, `${shown(data)} (id ${signalId})`]);
  }
  return rows;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= VALUE_MAX_CHARS ? text : `${text.slice(0, VALUE_MAX_CHARS)}… (${text.length} characters)`;
}
