import type { EndedAttempt } from "../../../domain/execution.ts";
import type { EpochMs, ShardId } from "../../../domain/ids.ts";
import type { RowChange, ShardCommit } from "../../../ports/store.ts";
import { bools, byteas, float8s, int2s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import { QUEUE_CODES, STATE_CODES } from "../connection/codes.ts";
import type { Row, Statement } from "../connection/connections.ts";
import { fewerParameters } from "../connection/fewer-parameters.ts";
import { DEFINITION, REPLACED, replacedValues, replacementOf } from "../jobs/replacements.ts";
import { planned, plannedAnswer, plannedNodes, plannedValues } from "../recurring/plan-changes.ts";
import {
  BRANCHED,
  BRANCHES,
  isRunning,
  lastRunningValues,
  running as ran,
  runningAnswer,
  runningValues,
} from "../workflows/running.ts";
import { SPAWNED, spawnedValues } from "../workflows/spawned.ts";
import { DELIVERED, deliveredValues, isDelivering } from "./end-deliveries.ts";
import { journalText } from "./journal.ts";
import { MARKED, MARKS, stepped, steppedValues } from "./step-records.ts";
import { isTelling, told, toldValues } from "./told-events.ts";

/** SQL condition: the fence of the shard in `column` holds. `held` is a mask with one bit for each of the 64 shards. */
const holds = (column: string) => `(((SELECT mask FROM held) >> ${column}) & 1) = 1`;

/** Parts that a commit has. */
interface Shape {
  changing: boolean;
  assigning: boolean;
  replacing?: boolean;
  planning?: boolean;
  stepping?: boolean;
  running?: boolean;
  spawning?: boolean;
  delivering?: boolean;
  telling?: boolean;
}

/**
 * Statement that writes everything of a tick. Every part that touches a row asks `held` first, so the statement locks
 * every fence before it writes. The lock is shared, so it excludes only a takeover, which takes its locks in the same
 * order. If a takeover came first, the statement waits for it and then reads the fence again with its new epoch.
 */
const textOf = ({
  changing,
  assigning,
  replacing = false,
  planning = false,
  stepping = false,
  running = false,
  spawning = false,
  delivering = false,
  telling = false,
}: Shape) => `
WITH fence AS MATERIALIZED (
  SELECT s.id FROM (SELECT unnest($1::int2[]) AS id, unnest($2::int8[]) AS epoch) f
  JOIN shards s ON s.id = f.id AND s.epoch = f.epoch
  ORDER BY s.id FOR SHARE OF s
), held AS MATERIALIZED (
  SELECT coalesce(bit_or(1::bigint << id), 0) AS mask FROM fence
)${changing ? changed({ replacing, planning, stepping, running }) : ""}${stepping ? stepped(holds) : ""}${assigning ? ASSIGNED : ""}${
  changing && assigning ? DONE : ""
}${planning ? planned(holds, { running }) : ""}${running ? ran(holds) : ""}${spawning ? SPAWNED : ""}${delivering ? DELIVERED : ""}${
  telling
    ? told(holds, answerOf({ changing, assigning, planning, running }, "NULL::uuid[]"), { planning, running, stepping })
    : ""
}
SELECT (SELECT array_agg(id) FROM fence), ${
  telling ? "m.* FROM unwritten m" : answerOf({ changing, assigning, planning, running }, "NULL")
}`;

/** @param nothing SQL expression for a part of the answer that the commit does not have */
const answerOf = (
  { changing, assigning, planning, running }: Pick<Required<Shape>, "changing" | "assigning" | "planning" | "running">,
  nothing: string,
) =>
  `${changing ? MISSED : nothing}, ${assigning ? unexpected(running) : nothing}${
    planning ? plannedAnswer(holds) : running ? `, ${nothing}, ${nothing}` : ""
  }${running ? runningAnswer(holds) : ""}`;

/** Changes of executions that were assigned, or that will never be assigned. */
const changed = ({
  replacing,
  planning,
  stepping,
  running,
}: Pick<Required<Shape>, "replacing" | "planning" | "stepping" | "running">) => `, change AS MATERIALIZED (
  SELECT unnest($3::int2[]) AS shard, unnest($4::uuid[]) AS id, unnest($5::int2[]) AS was_state,
    unnest($6::int4[]) AS was_attempt, unnest($7::int2[]) AS state, unnest($8::int4[]) AS attempt,
    unnest($9::int4[]) AS failures, unnest($10::int4[]) AS lost, unnest($11::int2[]) AS queue,
    unnest($12::float8[]) AS rank, unnest($13::int8[]) AS due_at, unnest($14::text[]) AS reason,
    unnest($15::text[]) AS worker_id, unnest($16::text[]) AS gateway, unnest($17::int8[]) AS attempt_started_at,
    unnest($18::int8[]) AS started_at, unnest($19::int8[]) AS finished_at, unnest($20::bytea[]) AS result,
    unnest($21::text[]) AS error, unnest($22::text[]) AS ended, unnest($23::bool[]) AS release${stepping ? MARKS : ""}${running ? BRANCHES : ""}
)${replacing ? REPLACED : ""}, updated AS (
  UPDATE executions e SET state = c.state, attempt = c.attempt, failures = c.failures, lost = c.lost, queue = c.queue,
    rank = c.rank, due_at = c.due_at, reason = c.reason, worker_id = c.worker_id, gateway = c.gateway,
    attempt_started_at = c.attempt_started_at, started_at = c.started_at, finished_at = c.finished_at,
    result = c.result, error = c.error, attempts = e.attempts || c.ended, updated_at = $24::int8${replacing ? DEFINITION : ""}${stepping ? MARKED : ""}${running ? BRANCHED : ""}
  FROM change c ${replacing ? "LEFT JOIN replaced r ON r.id = c.id" : ""}
  WHERE e.id = c.id AND e.state = c.was_state AND e.attempt = c.was_attempt AND ${holds("c.shard")}
  RETURNING e.id, c.release
), released AS (
  DELETE FROM unique_keys k USING updated u WHERE u.release AND k.execution_id = u.id${planning ? " RETURNING 1" : ""}
), settled AS (
  DELETE FROM journal j
  USING (SELECT unnest($25::int2[]) AS shard, unnest($26::int8[]) AS epoch, unnest($27::int8[]) AS seq) s
  WHERE j.shard = s.shard AND j.epoch = s.epoch AND j.seq = s.seq AND ${holds("s.shard")}
)`;

const ASSIGNED = `, assigned AS (
  INSERT INTO journal (shard, epoch, seq, entries)
  SELECT * FROM (SELECT unnest($28::int2[]) AS shard, unnest($29::int8[]), unnest($30::int8[]), unnest($31::text[])) a
  WHERE ${holds("a.shard")}
)`;

const DONE = `, done AS (
  DELETE FROM commands c USING (SELECT unnest($32::uuid[]) AS id) d WHERE c.id = d.id AND ${holds("c.shard")}
)`;

/** Changes that were not applied. */
const MISSED = `
  CASE WHEN (SELECT count(*) FROM updated) < (SELECT count(*) FROM change c WHERE ${holds("c.shard")}) THEN
    ARRAY(SELECT c.id FROM change c WHERE ${holds("c.shard")} EXCEPT SELECT u.id FROM updated u)
  END`;

/** Hinted executions whose rows are not as expected. @param running whether there may be nodes of workflows */
const unexpected = (running: boolean) => `
  ARRAY(
    SELECT x.id FROM (SELECT unnest($33::int2[]) AS shard, unnest($34::uuid[]) AS id, unnest($35::int4[]) AS attempt) x
    WHERE ${holds("x.shard")} AND NOT EXISTS (
      SELECT FROM executions e WHERE e.id = x.id AND e.state = ${STATE_CODES.PENDING} AND e.attempt = x.attempt${
        running ? ` AND e.queue <> ${QUEUE_CODES.PARKED}` : ""
      }
    )
  )`;

/** With a backlog, nearly every tick both ends and assigns something. */
export const COMMIT_TEXT = textOf({ changing: true, assigning: true });
export const REPLACING_TEXT = textOf({ changing: true, assigning: true, replacing: true });
export const PLANNING_TEXT = textOf({ changing: true, assigning: true, replacing: true, planning: true });
/** A tick in which handlers make records rarely does anything else that is rare. */
const STEPPING = fewerParameters(textOf({ changing: true, assigning: true, stepping: true }));
export const STEPPING_TEXT = STEPPING.text;
export const WHOLE_TEXT = textOf({ changing: true, assigning: true, replacing: true, planning: true, stepping: true });
/** A tick in which nodes of workflows end mostly has nothing else that is rare. */
const RUNNING = fewerParameters(textOf({ changing: true, assigning: true, running: true }));
export const RUNNING_TEXT = RUNNING.text;
const WHOLE = { changing: true, assigning: true, replacing: true, planning: true, stepping: true, running: true };
export const WHOLE_RUNNING_TEXT = textOf(WHOLE);
/** Handlers rarely add nodes to their runs. */
export const SPAWNING_TEXT = textOf({ ...WHOLE, spawning: true });
/** For all ticks with ends of jobs that have `onFinish`. */
const DELIVERING_SHAPE = { ...WHOLE, spawning: true, delivering: true };
const DELIVERING = fewerParameters(textOf(DELIVERING_SHAPE));
export const DELIVERING_TEXT = DELIVERING.text;
/**
 * Without a backlog, a tick either ends or assigns something, mostly one row. The setup of unused parts would be most
 * of such a tick's cost.
 */
const ASSIGNING = fewerParameters(textOf({ changing: false, assigning: true }));
const CHANGING = fewerParameters(textOf({ changing: true, assigning: false }));
export const ASSIGNING_TEXT = ASSIGNING.text;
export const CHANGING_TEXT = CHANGING.text;

/** The same for commits with lifecycle events. The rarer shapes share a text. */
const telling = (shape: Shape) => fewerParameters(textOf({ ...shape, telling: true }));
const TELLING = {
  commit_assigning_telling: telling({ changing: false, assigning: true }),
  commit_changing_telling: telling({ changing: true, assigning: false }),
  commit_telling: telling({ changing: true, assigning: true }),
  commit_planning_telling: telling({ changing: true, assigning: true, planning: true }),
  commit_stepping_telling: telling({ changing: true, assigning: true, stepping: true }),
  commit_running_telling: telling({ changing: true, assigning: true, running: true }),
  commit_whole_telling: telling(WHOLE),
  commit_spawning_telling: telling({ ...WHOLE, spawning: true }),
  commit_delivering_telling: telling(DELIVERING_SHAPE),
};
export const TELLING_TEXTS = Object.entries(TELLING).map(([name, { text }]) => [name, text] as const);

export interface CommitAnswer {
  held: Set<ShardId>;
  missed: Set<string>;
  missedPlans: Set<string>;
  notCreated: Set<string>;
  missedRuns: Set<string>;
  notBorn: Set<string>;
  /** Elements of ADDED_ANSWER. */
  added: string[];
}

/** @param now time that the rows get as the time of their last write */
export function commitStatement(batch: readonly ShardCommit[], now: EpochMs): Statement {
  const assigning = batch.filter((commit) => commit.assigned.length > 0);
  const changes = flat(batch, (commit) => commit.changes);
  const settled = flat(batch, (commit) => commit.settledJournals);
  const expected = flat(batch, (commit) => commit.expected);
  const done = batch.flatMap((commit) => commit.commandsDone);
  const replaced = changes.flatMap(({ item }) => replacementOf(item));
  const isPlanning = batch.some((commit) => commit.plans.length > 0);
  const values = [
    int2s(batch, (c) => c.shard),
    int8s(batch, (c) => c.epoch),
    ...changeValues(changes),
    now,
    int2s(settled, (s) => s.shard),
    int8s(settled, (s) => s.item.epoch),
    int8s(settled, (s) => s.item.seq),
    int2s(assigning, (c) => c.shard),
    int8s(assigning, (c) => c.epoch),
    int8s(assigning, (c) => c.journalSeq),
    texts(assigning, (c) => journalText(c.assigned)),
    uuids(done, (id) => id),
    int2s(expected, (x) => x.shard),
    uuids(expected, (x) => x.item.id),
    int4s(expected, (x) => x.item.attempt),
  ];
  const steps = flat(batch, (commit) => commit.steps);
  const marks = changes.map(({ item }) => item);
  const isStepping = steps.length > 0 || marks.some((change) => change.steps !== undefined);
  const whole = () => [...values, ...replacedValues(replaced), ...plannedValues(batch), ...steppedValues(marks, steps)];
  if (batch.some(isTelling)) {
    const isAssigning = done.length + assigning.length + expected.length > 0;
    const isChanging = done.length + changes.length + settled.length > 0;
    const isReplacing = replaced.length > 0;
    return tellingStatement(batch, whole(), { isAssigning, isChanging, isPlanning, isStepping, isReplacing });
  }
  if (batch.some(isDelivering)) {
    const running = [...runningValues(batch, marks), plannedNodes(batch), ...lastRunningValues(batch)];
    const all = [...whole(), ...running, ...spawnedValues(marks), ...toldValues(batch), ...deliveredValues(batch)];
    return { name: "commit_delivering", text: DELIVERING.text, values: DELIVERING.pick(all) };
  }
  if (batch.some(isRunning)) {
    const all = [...whole(), ...runningValues(batch, marks), plannedNodes(batch), ...lastRunningValues(batch)];
    if (marks.some(({ spawn }) => spawn !== undefined))
      return { name: "commit_spawning", text: SPAWNING_TEXT, values: [...all, ...spawnedValues(marks)] };
    if (isStepping || isPlanning || replaced.length > 0)
      return { name: "commit_whole_running", text: WHOLE_RUNNING_TEXT, values: all };
    return { name: "commit_running", text: RUNNING.text, values: RUNNING.pick(all) };
  }
  if (isStepping) {
    if (isPlanning || replaced.length > 0) return { name: "commit_whole", text: WHOLE_TEXT, values: whole() };
    return { name: "commit_stepping", text: STEPPING.text, values: STEPPING.pick(whole()) };
  }
  if (isPlanning) {
    return {
      name: "commit_planning",
      text: PLANNING_TEXT,
      values: [...values, ...replacedValues(replaced), ...plannedValues(batch)],
    };
  }
  if (replaced.length > 0) {
    return { name: "commit_replacing", text: REPLACING_TEXT, values: [...values, ...replacedValues(replaced)] };
  }
  if (done.length === 0 && assigning.length + expected.length === 0) {
    return { name: "commit_changing", text: CHANGING.text, values: CHANGING.pick(values) };
  }
  if (done.length === 0 && changes.length + settled.length === 0) {
    return { name: "commit_assigning", text: ASSIGNING.text, values: ASSIGNING.pick(values) };
  }
  return { name: "commit", text: COMMIT_TEXT, values };
}

interface Parts {
  isAssigning: boolean;
  isChanging: boolean;
  isPlanning: boolean;
  isStepping: boolean;
  isReplacing: boolean;
}

/** @param values those of all parts before the runs of workflows */
function tellingStatement(batch: readonly ShardCommit[], values: readonly unknown[], parts: Parts): Statement {
  const changes = batch.flatMap((commit) => commit.changes);
  const running = [...runningValues(batch, changes), plannedNodes(batch), ...lastRunningValues(batch)];
  const name = tellingName(batch, changes, parts);
  const { text, pick } = TELLING[name];
  const delivered = deliveredValues(batch);
  const all = [...values, ...running, ...spawnedValues(changes), ...toldValues(batch), ...delivered];
  return { name, text, values: pick(all) };
}

function tellingName(
  batch: readonly ShardCommit[],
  changes: readonly RowChange[],
  { isAssigning, isChanging, isPlanning, isStepping, isReplacing }: Parts,
): keyof typeof TELLING {
  const isOfRuns = batch.some(isRunning);
  if (batch.some(isDelivering)) return "commit_delivering_telling";
  if (changes.some(({ spawn }) => spawn !== undefined)) return "commit_spawning_telling";
  if (isReplacing || [isOfRuns, isPlanning, isStepping].filter((is) => is).length > 1) return "commit_whole_telling";
  if (isStepping) return "commit_stepping_telling";
  if (isOfRuns) return "commit_running_telling";
  if (isPlanning) return "commit_planning_telling";
  if (isAssigning && isChanging) return "commit_telling";
  return isChanging ? "commit_changing_telling" : "commit_assigning_telling";
}

type AnswerRow = [
  held: string | null,
  missed: string | null,
  unexpected: string | null,
  missedPlans?: string | null,
  notCreated?: string | null,
  missedRuns?: string | null,
  notBorn?: string | null,
  added?: string | null,
];

export function commitAnswer(rows: Row[]): CommitAnswer {
  const [held, missed, unexpected, missedPlans, notCreated, missedRuns, notBorn, added] = rows[0] as AnswerRow;
  return {
    held: new Set(listed(held).map(Number)),
    missed: new Set([...listed(missed), ...listed(unexpected)]),
    missedPlans: new Set(listed(missedPlans ?? null)),
    notCreated: new Set(listed(notCreated ?? null)),
    missedRuns: new Set(listed(missedRuns ?? null)),
    notBorn: new Set(listed(notBorn ?? null)),
    added: listed(added ?? null),
  };
}

interface OfShard<T> {
  shard: ShardId;
  item: T;
}

function flat<T>(batch: readonly ShardCommit[], items: (commit: ShardCommit) => readonly T[]): OfShard<T>[] {
  const all: OfShard<T>[] = [];
  for (const commit of batch) for (const item of items(commit)) all.push({ shard: commit.shard, item });
  return all;
}

function changeValues(changes: readonly OfShard<RowChange>[]): unknown[] {
  const rows = changes.map((change) => change.item);
  return [
    int2s(changes, (c) => c.shard),
    uuids(rows, (c) => c.id),
    int2s(rows, (c) => STATE_CODES[c.wasState]),
    int4s(rows, (c) => c.wasAttempt),
    int2s(rows, (c) => STATE_CODES[c.state]),
    int4s(rows, (c) => c.attempt),
    int4s(rows, (c) => c.failures),
    int4s(rows, (c) => c.lost),
    int2s(rows, (c) => QUEUE_CODES[c.queue]),
    float8s(rows, (c) => c.rank),
    int8s(rows, (c) => c.dueAt),
    texts(rows, (c) => c.reason),
    texts(rows, (c) => c.workerId),
    texts(rows, (c) => c.gateway),
    int8s(rows, (c) => c.attemptStartedAt),
    int8s(rows, (c) => c.startedAt),
    int8s(rows, (c) => c.finishedAt),
    byteas(rows, (c) => c.result),
    texts(rows, (c) => (c.error === null ? null : JSON.stringify(c.error))),
    texts(rows, (c) => endedText(c.ended)),
    bools(rows, (c) => c.releaseUniqueKey),
  ];
}

/** Ended attempts as text, one line each; `endedAttempts` in rows.ts reads it back. */
export function endedText(ended: readonly EndedAttempt[]): string {
  let lines = "";
  for (const a of ended) {
    const error = a.error === null ? "null" : JSON.stringify(a.error);
    lines += `[${a.attempt},${JSON.stringify(a.workerId)},"${a.state}",${a.startedAt},${a.finishedAt},${error}]\n`;
  }
  return lines;
}

/** Elements of the literal of an array of numbers or uuids, which never contain quotes. */
function listed(literal: string | null): string[] {
  return literal === null || literal === "{}" ? [] : literal.slice(1, -1).split(",");
}
