import { addedRows } from "../checkers/ledger.ts";
import type { History, Moment, Written } from "../history.ts";
import { tellMoment } from "./tell-moment.ts";
import { commanded, tellWritten } from "./tell-written.ts";

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** A story that is longer is not read: of more the end is told, which is where it breaks. */
const LINES_MAX = 200;

/**
 * History of the executions that a violation names, in order, in words: with the workers that had them, and every fault
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

/** The ids in the violation that executions have; an id of a command leads to its execution. */
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
    for (const { id, workerId } of entry.event.asked.assigned) if (executions.has(id)) workers.add(workerId);
  }
  return workers;
}

function told(entry: Moment | Written, executions: ReadonlySet<string>, workers: ReadonlySet<string>): string[] {
  if (entry.kind === "WRITTEN") return tellWritten(entry.event, executions);
  const line = tellMoment(entry, executions, workers);
  return line === null ? [] : [line];
}

/** Since the beginning: hours, minutes, seconds and milliseconds. */
function clockTime(ms: number): string {
  return new Date(Math.floor(ms)).toISOString().slice(11, 23);
}

/** Ids are long and begin alike: those that the story is about get short names. */
function abbreviated(line: string, executions: ReadonlySet<string>): string {
  let short = line;
  let number = 0;
  for (const id of executions) short = short.replaceAll(id, `E${++number}`);
  return short.replace(UUID, (id) => `…${id.slice(-6)}`);
}
