import type { Mutant } from "./mutant.ts";

const ENGINE = "packages/server/src/engine";
const HERD_TEST = `${ENGINE}/queue/herd.test.ts`;
const TURNS = "packages/server/src/scheduler/reading/flow-turns.ts";
const TURNS_TEST = "packages/server/src/scheduler/reading/flow-turns.test.ts";

/** Mutants in the turns that flows take, from the store to the batch. A store whose rows cost no time hides most of them. */
export const flowMutants: readonly Mutant[] = [
  {
    name: "timers of a crowded flow hold up the others",
    file: `${ENGINE}/state.ts`,
    find: "state.waiting.push(flowName(entry.row), at, entry.id, entry)",
    replace: 'state.waiting.push("", at, entry.id, entry)',
    why: "an urgent execution waits behind all executions of another pool that fell due before it",
    test: {
      file: HERD_TEST,
      name: "do not hold up one of another pool, of priority 9, that no lane has room for either",
    },
  },
  {
    name: "tenants of a pool share a flow",
    file: "packages/server/src/domain/flow.ts",
    find: "return `${tenant}\\n${pool}`;",
    replace: "return `${tenant.slice(0, 0)}\\n${pool}`;",
    why: "the work of a quiet tenant waits behind all that another tenant has due before it",
    test: { file: HERD_TEST, name: "do not hold up one of another tenant in the same pool, which gets the next slot" },
  },
  {
    name: "a batch returns a whole herd",
    file: `${ENGINE}/queue/intake.ts`,
    find: "if (step.batch.overflows >= state.limits.batchOverflows) return waitForBatch(step, entry);",
    replace: "",
    why: "one commit writes a hundred thousand rows, and everything else waits for it",
    test: { file: HERD_TEST, name: "go back in portions too where they were due long before they were read" },
  },
  {
    name: "one step takes a whole herd",
    file: `${ENGINE}/clock.ts`,
    find: "taken < state.limits.stepDue",
    replace: "taken < Number.POSITIVE_INFINITY",
    why: "the first executions of a herd are assigned only after fifty thousand others have entered their lanes",
    test: {
      file: HERD_TEST,
      name: "enter their lanes in portions, and the first portion is assigned before the rest enters",
    },
  },
  {
    name: "one pool fills every batch",
    file: `${ENGINE}/queue/dispatch.ts`,
    find: "if (pools.size > 1) {",
    replace: "if (pools.size > 1_000_000) {",
    why: "a pool with many workers leaves no place in a batch to another pool",
    test: { file: HERD_TEST, name: "do not hold it up where their own workers fill every batch" },
  },
  {
    name: "the waiting room is not divided by flows",
    file: `${ENGINE}/state.ts`,
    find: "waiting.sizeOf(flowName(flow)) < limits.waiting - waiting.size",
    replace: "waiting.size < limits.waiting",
    why: "a herd takes all the memory, and the rows of other pools stay in the store beyond their time",
    test: { file: HERD_TEST, name: "leave room in memory for executions of other pools that wait" },
  },
  {
    name: "plans of one instant hold up the others",
    file: `${ENGINE}/recurring/plans.ts`,
    find: "this.timers.push(flowName(flowOf(planned.job)), at,",
    replace: 'this.timers.push("", at,',
    why: "a few recurring jobs fire after very many of another pool that share their instant",
    test: {
      file: `${ENGINE}/recurring/recurring.test.ts`,
      name: "do not hold up a few of another pool that fire at the same instant",
    },
  },
  {
    name: "flow turns restart at the first flow",
    file: TURNS,
    find: "this.#after = flows.length < limit ? null : (flows.at(-1) ?? null);",
    replace: "this.#after = null;",
    why: "rows of flows behind the first five hundred are not read while a herd is there",
    test: { file: TURNS_TEST, name: "come to every flow, also where there are more flows than a look has pages" },
  },
  {
    name: "flow turns pass over rows that were committed late",
    file: TURNS,
    find: "now - frontAt >= FRONT_EVERY_MS || now < frontAt",
    replace: "frontAt === Number.NEGATIVE_INFINITY",
    why: "a row whose transaction was slow is found when the herd of its flow is over",
    test: { file: TURNS_TEST, name: "read the first rows again each second, and go on behind the last page" },
  },
];
