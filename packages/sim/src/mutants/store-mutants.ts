import type { Mutant } from "./mutant.ts";

const STORE_COMMIT = "packages/server/src/adapters/simulated/rows/commit.ts";

/** Mutants in the store's own checks; the simulated store stands in for all stores. */
export const storeMutants: readonly Mutant[] = [
  {
    name: "no epoch check",
    file: STORE_COMMIT,
    find: "if (state.epoch !== epoch) {",
    replace: "if (state.epoch < epoch) {",
    // A takeover that ends no connections, so that late commits arrive and only the epoch can stop them.
    also: [
      {
        file: "packages/server/src/adapters/simulated/take-over.ts",
        find: "if (name !== null) shutOut += data.onTheWay.shutOut(name);",
        replace: "if (name === null) shutOut += 1;",
      },
    ],
    why: "an owner that was overtaken goes on writing",
  },
  {
    name: "rescue without compare-and-set",
    file: STORE_COMMIT,
    find: "if (before.state !== change.wasState || before.attempt !== change.wasAttempt) return null;",
    replace: "",
    // Views are outdated only if another fault exists as well, and the comparison is there for that case.
    also: [
      {
        file: "packages/server/src/engine/recent-writes.ts",
        find: "return batch !== undefined && batch >= since;",
        replace: "return batch !== undefined && batch < 0;",
      },
    ],
    why: "what is decided on an old view of a row overwrites what has become of it",
  },
  {
    name: "an epoch that was lost is given again",
    file: "packages/server/src/adapters/simulated/take-over.ts",
    find: "Math.max(knownEpoch + 1, time)",
    replace: "Math.min(knownEpoch + 1, 0)",
    waysBack: ["FAILOVER"],
    why: "after a failover to a standby that missed a takeover two nodes own a shard under one epoch",
  },
  {
    name: "a takeover outlives its connection",
    file: "packages/server/src/adapters/simulated/sim-store.ts",
    find: "(this.#takenIn.get(shard) ?? timeline) !== timeline",
    replace: "(this.#takenIn.get(shard) ?? timeline) < 0",
    also: [
      {
        file: "packages/server/src/scheduler/scheduler.ts",
        find: 'this.#lost("CONNECTION_LOST", "the connection that shards were taken over on ended")',
        replace: "undefined",
      },
    ],
    waysBack: ["FAILOVER"],
    why: "an owner goes on with what it remembers of a store that has gone back, and what that has again stands still",
  },
  {
    name: "attempts that a lost state gave out are given out again",
    file: "packages/server/src/domain/lost-attempts.ts",
    find: "Math.max(attempt, isOlder ? lost.last : 0) + 1",
    replace: "attempt + (isOlder ? 1 : 1)",
    waysBack: ["REWIND"],
    why: "two workers run one attempt of an execution, because the journal of the first one is lost",
  },
  {
    name: "a generation raises no epochs",
    file: "packages/server/src/adapters/simulated/store-data.ts",
    find: "for (const shard of this.#tables.shards) shard.raise(since);",
    replace: "",
    waysBack: ["REWIND"],
    why: "an owner that has not noticed the change of the server writes what it remembers of the former one",
  },
  {
    name: "a commit does not compare the generation",
    file: "packages/server/src/adapters/simulated/sim-store.ts",
    find: "this.#data.isRewound ? null : { answer: effect() }",
    replace: "{ answer: effect() }",
    waysBack: ["REWIND"],
    why: "an owner writes to a server that lacks its last commits before any node has noticed the change",
  },
  {
    name: "writes are answered before a replica has them",
    file: "packages/server/src/adapters/simulated/random-latency.ts",
    find: "profile.isUnconfirmed && CONFIRMED.has(operation)",
    replace: "profile.isDown && CONFIRMED.has(operation)",
    waysBack: ["PROMOTION"],
    why: "an accepted job is lost with the primary",
  },
  {
    name: "the newest payload",
    file: "packages/server/src/adapters/simulated/rows/reads.ts",
    find: "const payload = data.executions.get(id)?.job.payload ?? null;",
    replace: "const payload = data.jobs.get(data.executions.get(id)?.job.jobId)?.job.payload ?? null;",
    why: "an execution runs by one version of its job and gets the payload of another",
  },
];
