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
    find: "if (isEnough) return nodes + 1;",
    replace: "if (isEnough) return nodes;",
    why: "the suggested nodes are overloaded as soon as one of them is restarted at the peak",
    test: { file: TEST, name: "gets as many nodes that the others carry the peak if one fails" },
  },
  {
    name: "suggested nodes are the bottleneck",
    file: `${CAPACITY}/needs.ts`,
    find: "share === null || need.isSized === true",
    replace: "share === null",
    why: "the calculator names a bottleneck that more nodes remove, and hides the one of the store",
    test: { file: TEST, name: "has no bottleneck in what the calculator chose itself" },
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
