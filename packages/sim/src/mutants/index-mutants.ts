import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const SETTLER = `${SERVER}/api/executions/cancel-settler.ts`;
const SETTLER_TEST = `${SERVER}/api/executions/cancel-settler.test.ts`;
const BESIDE = `${SERVER}/gateway/beside-store.ts`;
const BESIDE_TEST = `${SERVER}/gateway/beside-store.test.ts`;
const ASKED = `${SERVER}/gateway/asked-cancels.ts`;
const COVERAGE = `${SERVER}/domain/hot-window.ts`;
const WINDOW_TEST = `${SERVER}/scheduler/reading/waiting-rows.test.ts`;
const GATEWAY = `${SERVER}/gateway/gateway.ts`;

/** Mutants in the use of the index beside the store. */
export const indexMutants: readonly Mutant[] = [
  {
    name: "a cancellation leaves the set without the store",
    file: SETTLER,
    find: `    await commands.leave({ id: runtime.uuid(), shard: view.shard, kind: "CANCEL", executionId });
    return true;`,
    replace: "    return runtime.uuid() !== view.shard.toString() && commands !== null;",
    why: "an execution that no worker has goes on, although its client was told that it will be cancelled",
    test: { file: SETTLER_TEST, name: "become commands when the store answers, and leave the set only then" },
  },
  {
    name: "a cancellation leaves the set before the store has answered",
    file: SETTLER,
    find: "        if (await this.#isSettled(cancel, runtime.now())) done.push(cancel.executionId);",
    replace: "        if (done.push(cancel.executionId) > 0) await this.#isSettled(cancel, runtime.now());",
    why: "the request is lost with the outage that it was kept for",
    test: { file: SETTLER_TEST, name: "become commands when the store answers, and leave the set only then" },
  },
  {
    name: "a gateway acknowledges an attempt that it has told to stop",
    file: ASKED,
    find: `        session.cancel(held.token, "REQUESTED", GRACE_MS);`,
    replace: `        session.cancel(held.token, "REQUESTED", GRACE_MS);
        session.acknowledge(held.token);`,
    why: "the worker forgets the end of an attempt that the store does not have",
    test: {
      file: BESIDE_TEST,
      name: "leaves the end of a cancelled attempt to its owner: the result is reported, and not acknowledged",
    },
  },
  {
    name: "the window is the truth",
    file: COVERAGE,
    find: "return this.#mark === null || dueUntil > this.#until ||",
    replace: "return this.#mark === null || dueUntil === this.#until ||",
    why: "a row that the window does not have is never found again",
    test: { file: WINDOW_TEST, name: "find a row that nobody told of by the next sweep" },
  },
  {
    name: "a window that has lost its data is trusted",
    file: COVERAGE,
    find: "return mark !== null && mark === this.#mark;",
    replace: "return mark === null || mark === this.#mark;",
    why: "after a restart of Redis, rows are found half a minute late",
    test: {
      file: WINDOW_TEST,
      name: "sweep the store at once where the window has lost its data, or is away, or other shards are asked for",
    },
  },
  {
    name: "the registry is evidence of a worker's death",
    file: BESIDE,
    find: "    await index.workers.write(node, gateway.statuses());",
    replace: `    await index.workers.write(node, gateway.statuses());
    for (const { ageMs, workers } of await index.workers.read(new Set([node])))
      if (ageMs > 15_000) gateway.stopAttempts(new Set(workers.map(({ workerId }) => "dead:" + workerId)));`,
    also: [
      {
        file: GATEWAY,
        find: "    for (const session of this.#askedCancels.tell(",
        replace: `    for (const id of executionIds)
      if (id.startsWith("dead:"))
        for (const owner of this.#context.owners.all)
          this.#context.reports.tell(owner, {
            kind: "WORKER_LOST",
            workerId: id.slice(5),
            connection: Number.MAX_SAFE_INTEGER,
            reason: "its gateway has written nothing",
          });
    for (const session of this.#askedCancels.tell(`,
      },
    ],
    why: "an attempt runs twice when a gateway restarts or the index stands still, because the worker lives on",
  },
];
