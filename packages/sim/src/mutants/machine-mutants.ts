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
    file: `${SHARD}/takeover.ts`,
    find: "setTimer(state, entry, step.now + state.limits.adoptWithinMs);",
    replace: "",
    why: "what ran on a worker that died together with the server is waited for for ever",
  },
  {
    name: "impatient takeover",
    file: `${SHARD}/takeover.ts`,
    find: "step.now + state.limits.adoptWithinMs",
    replace: "step.now + 1",
    why: "a takeover gives up what living workers run, before they could say so",
  },
  {
    name: "the order to stop is forgotten",
    file: `${SHARD}/cancel.ts`,
    find: 'if (entry.cancels.length === 1 && entry.assigned?.adopting === false) orderStop(step, entry, "REQUESTED");',
    replace: "",
    why: "a client hears REQUESTED and the worker hears nothing",
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
    find: 'for (const entry of holding) attemptGivenUp(step, entry, "WORKER_LOST", reason);',
    replace: "holding.length = 0;",
    why: "executions of a worker that died are never given to another",
  },
  {
    name: "a taken-over result is thrown away",
    file: `${SHARD}/fleet.ts`,
    find: "if (hold?.attempt !== entry.row.attempt) {",
    replace: "if (hold?.attempt !== entry.row.attempt || hold.startedAt !== null) {",
    why: "after a takeover what runs is taken for never arrived, and runs twice",
  },
];
