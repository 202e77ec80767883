import type { AppliedChange, Command, Committed, StoreEvent, TakenOver, WentBack } from "@mainspring/server/testing";
import { addedRows, assignedIn } from "../checkers/recurring/ledger.ts";

/** Writes of the store that concern these executions, and every takeover. */
export function tellWritten(event: StoreEvent, executions: ReadonlySet<string>): string[] {
  switch (event.kind) {
    case "SUBMITTED":
      return event.rows
        .filter(({ id }) => executions.has(id))
        .map(({ id, job, queue }) => `the store takes ${id} of shard ${job.shard}, ${queue}`);
    case "COMMANDED":
      return commanded(event.command)
        .filter((id) => executions.has(id))
        .map((id) => `the store takes the command to ${event.command.kind} ${id}`);
    case "SIGNALLED":
      return executions.has(event.executionId)
        ? [`the store takes the signal ${event.signal.name} for ${event.executionId}`]
        : [];
    case "JOB_CHANGED":
    case "RUN_RETRIED":
    case "SETTLED":
      return addedRows(event)
        .filter(({ id, retryOf }) => executions.has(id) || executions.has(retryOf ?? ""))
        .map(({ id, retryOf }) => `the store takes ${id}, which repeats ${retryOf}`);
    case "TAKEN_OVER":
      return [takenOver(event)];
    case "COMMITTED":
      return committed(event, executions);
    case "POOL_SET": {
      const { name, paused, maxRunning, ratePerSec } = event.pool;
      return [`pool ${name}: paused ${paused}, maxRunning ${maxRunning}, ratePerSec ${ratePerSec}`];
    }
    case "FORGOTTEN":
    case "EVENTS_LEFT":
    case "REQUEST_ADDED":
    case "REQUESTS_ENDED":
    case "INGESTED":
    case "INGEST_REWOUND":
      return [];
    case "WENT_BACK":
      return ["*** the store goes back to an earlier state", ...wentBack(event, executions)];
  }
}

function wentBack({ rows, inFlight }: WentBack, executions: ReadonlySet<string>): string[] {
  const known = rows.filter(({ id }) => executions.has(id));
  const lines = known.map(({ id, state, attempt }) => `*** ${id} is ${state} again, after ${attempt} attempts`);
  const given = inFlight.filter(({ row }) => executions.has(row.id));
  return [
    ...lines,
    ...given.map(({ row, attempt, workerId }) => `*** attempt ${attempt} of ${row.id} is at ${workerId}`),
  ];
}

/** Executions that a command concerns. */
export function commanded(command: Command): readonly string[] {
  if (command.kind === "PLAN") return [];
  return "executionIds" in command ? command.executionIds : [command.executionId];
}

function takenOver({ owner, shards, shutOut }: TakenOver): string {
  const also = shutOut > 0 ? `, which shuts out ${shutOut} calls on their way` : "";
  return `*** ${owner} takes over ${shards.length} shards; the first has epoch ${shards[0]?.epoch} now${also}`;
}

function committed(event: Committed, executions: ReadonlySet<string>): string[] {
  const { asked, outcome, applied, born, nodes, by } = event;
  const created = asked.plans.flatMap((plan) => plan.created.map(({ row }) => row));
  const touched = [...asked.changes, ...asked.assigned, ...created, ...asked.births.map(({ row }) => row)].some(
    ({ id }) => executions.has(id),
  );
  if (!touched) return [];
  const commit = `${by} commits in shard ${asked.shard} under epoch ${asked.epoch}`;
  if (outcome.status === "FENCED") return [`${commit}, and is fenced`];
  const missed = outcome.missed.filter((id) => executions.has(id));
  const lines = missed.map((id) => `${commit}: the row of ${id} is not as it was thought to be`);
  for (const { id, attempt, workerId } of assignedIn(event)) {
    if (executions.has(id)) lines.push(`${commit}: attempt ${attempt} of ${id} goes to ${workerId}`);
  }
  for (const { id, state } of [...born, ...nodes])
    if (executions.has(id)) lines.push(`${commit}: ${id} is born ${state}`);
  for (const change of applied) if (executions.has(change.after.id)) lines.push(`${commit}: ${changed(change)}`);
  return lines;
}

function changed({ before, after }: AppliedChange): string {
  const ended = after.attempts.slice(before.attempts.length);
  const ends = ended.map(({ attempt, state }) => `attempt ${attempt} ended ${state}, `).join("");
  const reason = after.reason === null ? "" : ` (${after.reason})`;
  return `${ends}${after.id} was ${before.state} and is ${after.state}${reason}`;
}
