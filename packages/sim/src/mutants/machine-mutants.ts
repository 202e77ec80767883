import type { Mutant } from "./mutant.ts";

const SHARD = "packages/server/src/shard";

/** In the pure machine and the domain. */
export const machineMutants: readonly Mutant[] = [
  {
    name: "no attempt check",
    file: `${SHARD}/attempts.ts`,
    find: "if (entry.row.attempt !== token.attempt || entry.assigned.workerId !== workerId) return null;",
    replace: "",
    why: "the result of an attempt that was given up counts as the current one's",
  },
  {
    name: "off by one in backoff",
    file: "packages/server/src/domain/retry.ts",
    find: "Math.min(failures - 1, 60)",
    replace: "Math.min(failures, 60)",
    why: "every retry waits twice as long as its policy says",
  },
  {
    name: "retry without its delay",
    file: "packages/server/src/domain/attempt-end.ts",
    find: "dueAt: Math.max(at, now)",
    replace: "dueAt: now",
    why: "a retry storm",
  },
  {
    name: "one attempt too many",
    file: "packages/server/src/domain/attempt-end.ts",
    find: "if (spent.failures >= policy.retry.maxAttempts)",
    replace: "if (spent.failures > policy.retry.maxAttempts)",
    why: "the budget of failures is exceeded by one",
  },
  {
    name: "a loss is not counted",
    file: "packages/server/src/domain/attempt-end.ts",
    find: 'spent.lost + (end.state === "WORKER_LOST" ? 1 : 0)',
    replace: "spent.lost",
    why: "an execution that kills its workers goes on for ever",
  },
  {
    name: "one over the limit of a key",
    file: `${SHARD}/gates.ts`,
    find: "gate.running < gate.limit",
    replace: "gate.running <= gate.limit",
    why: "one more than the concurrency limit runs",
  },
  {
    name: "the permit of a key leaks",
    file: `${SHARD}/attempts.ts`,
    find: "  gate.running--;\n",
    replace: "",
    why: "after a while nothing of a concurrency key runs any more",
  },
  {
    name: "unique key released too early",
    file: `${SHARD}/rows.ts`,
    find: "releaseUniqueKey: final && row.hasUniqueKey",
    replace: "releaseUniqueKey: row.hasUniqueKey",
    why: "a second execution of a unique key is taken while the first one waits for its retry",
  },
  {
    name: "no time to adopt",
    file: `${SHARD}/adoption.ts`,
    find: "  setTimer(state, entry, now + state.limits.reconnectMs);\n",
    replace: "",
    why: "what ran on a worker that died together with the server is waited for for ever",
  },
  {
    name: "impatient takeover",
    file: `${SHARD}/adoption.ts`,
    find: "if (now < giveUpAt && !isAbsentEverywhere(step, assigned.workerId)) {",
    replace: "if (now < 0) {",
    also: [{ file: `${SHARD}/adoption.ts`, find: "now + state.limits.reconnectMs", replace: "now + 1" }],
    why: "a takeover gives up what living workers run, before they could say so",
  },
  {
    name: "the order to stop is forgotten",
    file: `${SHARD}/cancel.ts`,
    find: 'if (isFirst && entry.assigned?.soughtSince === null) orderStop(step, entry, "REQUESTED");',
    replace: "",
    why: "a client hears REQUESTED and the worker hears nothing",
  },
  {
    name: "the end of a cancel is not forced",
    file: `${SHARD}/cancel.ts`,
    find: "setTimer(step.state, entry, step.now + row.policy.cancelGraceMs + TRAVEL_MS);",
    replace: "",
    why: "what holds its worker's loop runs on for as long as it likes",
  },
  {
    name: "journal rows stay",
    file: `${SHARD}/rows.ts`,
    find: "  box.unsettled--;\n",
    replace: "",
    why: "the journal grows for ever",
  },
  {
    name: "what a lost worker held is forgotten",
    file: `${SHARD}/fleet.ts`,
    find: 'for (const entry of [...worker.holding]) attemptGivenUp(step, entry, "WORKER_LOST", reason);',
    replace: "",
    why: "executions of a worker that died are never given to another",
  },
  {
    name: "a taken-over result is thrown away",
    file: `${SHARD}/fleet.ts`,
    find: "if (hold !== null || isOnItsWay(assigned, worker)) confirm(",
    replace: "if (hold?.startedAt === null || isOnItsWay(assigned, worker)) confirm(",
    why: "after a takeover what runs is taken for never arrived, and runs twice",
  },
  {
    name: "credit is never called back",
    file: "packages/server/src/shard/credit.ts",
    find: "if (worker?.gateway === from && worker.account === account) step.state.recalled.add(worker);",
    replace: "",
    why: "a slot idles with an owner that has no work, while another's work waits",
  },
  {
    name: "what was lost on the way is not sent again",
    file: "packages/server/src/shard/credit.ts",
    find: "step.batch.resends.push(assignmentOf(step, entry, assigned));",
    replace: "",
    why: "an assignment that the bus lost is waited for until the next takeover",
  },
  {
    name: "an older connection draws a worker back",
    file: "packages/server/src/shard/fleet.ts",
    find: "return said.connection < known.connection;",
    replace: "return false;",
    why: "late news of the gateway that a worker has left speaks for it again",
  },
  {
    name: "numbers begin anew after silence",
    file: "packages/server/src/shard/workers.ts",
    find: "    this.#usedNumbers.remember(worker);\n",
    replace: "",
    // The owner asks after an attempt that has not begun after ten seconds, and takes it back where it never arrived.
    also: [
      {
        file: "packages/server/src/shard/credit.ts",
        find: "if (assigned?.startedAt === null && step.now - assigned.at > ASK_AFTER_MS) isInDoubt = true;",
        replace: "",
      },
    ],
    why: "assignments carry numbers that were used before, and are dropped",
  },
];
