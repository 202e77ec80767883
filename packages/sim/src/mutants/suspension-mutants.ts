import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const STORY = `${SERVER}/engine/attempts/suspend.test.ts`;
const LIFETIME = `${SERVER}/engine/attempts/lifetime.test.ts`;
const STORE = `${SERVER}/adapters/simulated/sim-store.test.ts`;

/** Mutants in the way of executions that sleep or wait for signals. */
export const suspensionMutants: readonly Mutant[] = [
  {
    name: "a suspension spends an attempt",
    file: `${SERVER}/domain/attempt-end.ts`,
    find: 'const failed = end.state === "FAILED" || end.state === "TIMED_OUT";',
    replace: 'const failed = end.state === "FAILED" || end.state === "TIMED_OUT" || end.state === "SUSPENDED";',
    why: "a handler that sleeps five times is dead",
    test: {
      file: STORY,
      name: "ends, records its waits and makes the row sleep in one commit, and spends no budget",
    },
  },
  {
    name: "a suspension forgets the lifetime",
    file: `${SERVER}/domain/attempt-end.ts`,
    find: 'if (state === "SUSPENDED" && now < lifetimeEndsAt) return { ...next, dueAt: lifetimeEndsAt };',
    replace: 'if (state === "SUSPENDED" && now < lifetimeEndsAt) return next;',
    why: "an execution that sleeps for longer than its lifetime is in the store until its sleep is over",
    test: { file: LIFETIME, name: "is due at the end of the lifetime, and ends there without an attempt" },
  },
  {
    name: "the end of a lifetime is assigned ahead",
    file: `${SERVER}/engine/queue/intake.ts`,
    find: "return row.dueAt < lifetimeEnd(row) ? state.limits.leadMs : 0;",
    replace: "return row.dueAt < lifetimeEnd(row) ? 0 : state.limits.leadMs;",
    why: "an attempt starts some milliseconds before the end of the lifetime, and is told to stop at once",
    test: { file: LIFETIME, name: "is due at the end of the lifetime, and ends there without an attempt" },
  },
  {
    name: "an attempt outlives its execution",
    file: `${SERVER}/domain/lifetime.ts`,
    find: "Math.min(row.policy.timeoutMs, lifetimeEnd(row) - startedAt)",
    replace: "row.policy.timeoutMs",
    why: "the last attempt of an execution runs for its whole timeout",
    test: { file: LIFETIME, name: "bounds a running attempt, which is told to stop like one that times out" },
  },
  {
    name: "a signal between what an attempt has seen and its suspension is lost",
    file: `${SERVER}/engine/attempts/suspend.ts`,
    find: 'return reason === "AWAITS_SIGNAL" && signals.length > 0;',
    replace: 'return reason === "AWAITS_SIGNAL" && signals.length < 0;',
    why: "an execution waits for its whole timeout beside the signal that it waits for",
    test: { file: STORY, name: "that comes during an attempt keeps the attempt from suspending unseen" },
  },
  {
    name: "a signal during an attempt is done at once",
    file: `${SERVER}/engine/attempts/signal.ts`,
    find: "    entry.signals.push(command.id);\n",
    replace: "    step.batch.shard(row.shard).commandsDone.push(command.id);\n",
    why: "the next owner does not know of the signal, and neither does the suspension that follows",
    test: { file: STORY, name: "that comes during an attempt keeps the attempt from suspending unseen" },
  },
  {
    name: "a signal does not end a suspension",
    file: `${SERVER}/engine/attempts/signal.ts`,
    find: 'if (row.steps === "AWAITING" && row.dueAt > step.now) resume(step, entry);',
    replace: 'if (row.steps === "SLEEPING" && row.dueAt > step.now) resume(step, entry);',
    why: "executions wait until their timeout, and sleepers wake early",
    test: { file: STORY, name: "ends the suspension of an execution that only the store has" },
  },
  {
    name: "sleepers are due early",
    file: `${SERVER}/engine/attempts/suspend.ts`,
    find: "until: endedAt + delayMs,",
    replace: "until: endedAt + delayMs / 2,",
    why: "a handler that sleeps for a day goes on at noon",
    test: {
      file: STORY,
      name: "ends, records its waits and makes the row sleep in one commit, and spends no budget",
    },
  },
  {
    name: "the mark of a row is lost at a takeover",
    file: `${SERVER}/adapters/simulated/rows/execution-row.ts`,
    find: "    ...(row.steps !== null && { steps: row.steps }),\n",
    replace: "",
    why: "the next owner assigns a resumed attempt without its records, which repeats its steps",
    test: { file: STORE, name: "keeps the mark of a row, whichever it is, until a change gives it another" },
  },
  {
    name: "a failure after a resumption sleeps",
    file: `${SERVER}/engine/rows.ts`,
    find: '(words.suspends ?? "RECORDED")',
    replace: "(words.suspends ?? row.steps)",
    why: "people are told that an execution sleeps that has failed, and a signal shortens its backoff",
    test: {
      file: STORY,
      name: "leaves an ordinary failure after a resumption: the budget is whole, and the row does not sleep",
    },
  },
  {
    name: "a signal is consumed twice",
    file: `${SERVER}/adapters/simulated/rows/commit.ts`,
    find: "if (signalId !== undefined) data.signals.take(executionId, signalId, name);",
    replace: "if (signalId === undefined) data.signals.take(executionId, name, name);",
    why: "one approval approves every order of the handler",
    test: {
      file: STORE,
      name: "marks a signal as consumed in the commit that writes the record, and only by the record that counts",
    },
  },
  {
    name: "a record is kept although its row is missed",
    file: `${SERVER}/adapters/simulated/rows/commit.ts`,
    find: "asked.steps.filter((step) => !left.has(step.executionId) && write(data, step))",
    replace: "asked.steps.filter((step) => write(data, step))",
    why: "a wait is recorded that no attempt has suspended for",
    test: {
      file: STORE,
      name: "writes no record of an execution whose change it misses or refuses, and the records of the others",
    },
  },
  {
    name: "waits of any size travel between nodes",
    file: `${SERVER}/gateway/connections/waits-check.ts`,
    find: "if (bytes > WAITS_MAX_BYTES) {",
    replace: "if (bytes < 0) {",
    why: "the other node ends the stream, and every message on it is lost",
    test: {
      file: `${SERVER}/gateway/sessions/suspend.test.ts`,
      name: "fails for good where it has waits that no other node could read",
    },
  },
  {
    name: "an execution has as many records as a worker sends",
    file: `${SERVER}/gateway/sessions/steps.ts`,
    find: "const fault = faultOf(step, context) ?? budgetFault(session, token, step);",
    replace: "const fault = faultOf(step, context);",
    why: "a worker fills the store, and the assignments of its execution the memory of a server",
    test: {
      file: `${SERVER}/gateway/sessions/suspend.test.ts`,
      name: "are as many as an execution may have, with those of earlier attempts, and repeats count once",
    },
  },
];
