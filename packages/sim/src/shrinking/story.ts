import { addedRows, assignedIn } from "../checkers/recurring/ledger.ts";
import type { History, SimEvent, Written } from "../history.ts";
import { tellEvent } from "./tell-event.ts";
import { commanded, tellWritten } from "./tell-written.ts";

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** Largest number of lines of a story. A longer story loses its beginning, because the violation is at its end. */
const LINES_MAX = 200;

/**
 * History of the executions that a violation names, in words and in order, with their workers and every fault
 * meanwhile.
 */
export function story(violation: string, history: History): string[] {
  const executions = executionsOf(violation, history);
  const workers = workersOf(violation, executions, history);
  const lines: string[] = [];
  for (const entry of history.entries) {
    for (const line of told(entry, executions, workers)) lines.push(`${clockTime(entry.atMs)}  ${line}`);
  }
  const shown = lines.slice(-LINES_MAX);
  if (shown.length < lines.length) shown.unshift(`(${lines.length - shown.length} lines before are left out)`);
  return [...shown, `${" ".repeat(12)}  ${violation}`].map((line) => abbreviated(line, executions));
}

/** Ids of executions in the text of a violation; the id of a command leads to its execution. */
function executionsOf(violation: string, history: History): Set<string> {
  const named = new Set(violation.match(UUID) ?? []);
  const executions = new Set<string>();
  for (const entry of history.entries) {
    if (entry.kind !== "WRITTEN") continue;
    const { event } = entry;
    for (const { id } of addedRows(event)) if (named.has(id)) executions.add(id);
    if (event.kind === "COMMANDED" && named.has(event.command.id)) {
      for (const id of commanded(event.command)) executions.add(id);
    }
  }
  return executions;
}

function workersOf(violation: string, executions: ReadonlySet<string>, history: History): Set<string> {
  const workers = new Set(violation.match(/worker-\d+/g) ?? []);
  for (const entry of history.entries) {
    if (entry.kind !== "WRITTEN" || entry.event.kind !== "COMMITTED") continue;
    for (const { id, workerId } of assignedIn(entry.event)) if (executions.has(id)) workers.add(workerId);
  }
  return workers;
}

function told(entry: SimEvent | Written, executions: ReadonlySet<string>, workers: ReadonlySet<string>): string[] {
  if (entry.kind === "WRITTEN") return tellWritten(entry.event, executions);
  const line = tellEvent(entry, executions, workers);
  return line === null ? [] : [line];
}

/** Time since the start: hours, minutes, seconds and milliseconds. */
function clockTime(ms: number): string {
  return new Date(Math.floor(ms)).toISOString().slice(11, 23);
}

/** Replaces the ids of the story's executions by short names, because ids are long and start alike. */
function abbreviated(line: string, executions: ReadonlySet<string>): string {
  let short = line;
  let number = 0;
  for (const id of executions) short = short.replaceAll(id, `E${++number}`);
  return short.replace(UUID, (id) => `…${id.slice(-6)}`);
}
