import type { Mutant } from "./mutant.ts";

const CAPACITY = "packages/cli/src/capacity";
const TEST = `${CAPACITY}/needs.test.ts`;

/** Mutants in the calculator of capacity. */
export const capacityMutants: readonly Mutant[] = [
  {
    name: "one node pays for messages between nodes",
    file: `${CAPACITY}/load.ts`,
    find: "const crossing = (nodes - 1) / nodes;",
    replace: "const crossing = 1;",
    why: "a plan for a few nodes gets more of them than it needs",
    test: { file: TEST, name: "follow from the costs of a job and of messages between nodes" },
  },
  {
    name: "no node may fail",
    file: `${CAPACITY}/needs.ts`,
    find: "if (cores <= nodes * usableCores(plan) * PLANNED_SHARE) return nodes + 1;",
    replace: "if (cores <= nodes * usableCores(plan) * PLANNED_SHARE) return nodes;",
    why: "the suggested nodes are overloaded as soon as one of them is restarted at the peak",
    test: { file: TEST, name: "gets as many nodes that the others carry the peak if one fails" },
  },
  {
    name: "the fullest need is the bottleneck",
    file: `${CAPACITY}/needs.ts`,
    find: "while (fullestAt(full).share <= 1) [fits, full] = [full, full * 2];",
    replace: "",
    why: "the calculator names connections that more jobs do not need, and hides the limit that they reach",
    test: { file: TEST, name: "has the need that reaches its limit first as its bottleneck" },
  },
  {
    name: "bytes of a rejected measurement",
    file: `${CAPACITY}/memory.ts`,
    find: "return workerMib > 0 && baseMib > 0 ? { baseMib, workerMib } : null;",
    replace: "return { baseMib, workerMib };",
    why: "memory that two fleets differ in by chance becomes a need, which may be negative",
    test: { file: TEST, name: "leaves out needs that were not measured, and says so" },
  },
];
