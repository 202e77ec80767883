import type { Mutant } from "./mutant.ts";

const SERIES = "packages/server/src/domain/series";
const MERGE_TEST = `${SERIES}/merge.test.ts`;
const RING_TEST = `${SERIES}/ring.test.ts`;
const ALERTS_TEST = `${SERIES}/alerts.test.ts`;

/** Mutants in the series that nodes keep of their figures, in their merge, and in the alerts that they show. */
export const seriesMutants: readonly Mutant[] = [
  {
    name: "a point of a killed node counts as whole",
    file: `${SERIES}/merge.ts`,
    find: "Math.max(told, ...at(point)) - told",
    replace: "told - told",
    why: "sums that lack a node are shown as if they were all",
    test: {
      file: MERGE_TEST,
      name: "lack a node that was killed as long as it lived, and are whole after its death",
    },
  },
  {
    name: "what each node says of the whole cluster is added up",
    file: `${SERIES}/figures.ts`,
    find: 'return kind === "MAX" ? Math.max(a, b) : a + b;',
    replace: "return kind.length > 0 ? a + b : 0;",
    why: "a cluster of three nodes shows three times its overdue jobs",
    test: {
      file: MERGE_TEST,
      name: "add up counts and levels of nodes, and take the largest of what each says of the whole cluster",
    },
  },
  {
    name: "points that no node told of show zero",
    file: `${SERIES}/merge.ts`,
    find: "      if (told === 0) return null;\n",
    replace: "",
    why: "an hour before the start of the servers looks like an hour without work",
    test: {
      file: MERGE_TEST,
      name: "are whole before the start of a node that came later, and tell of no point before all nodes were started",
    },
  },
  {
    name: "points between two samples keep what they had an hour ago",
    file: `${SERIES}/ring.ts`,
    find: "? [newest + 1, point]",
    replace: "? [point, point]",
    why: "a node that stood still shows figures of the hour before",
    test: {
      file: RING_TEST,
      name: "forgets what is older than an hour, and tells at most an hour",
    },
  },
  {
    name: "an alert fires over a break of its condition",
    file: `${SERIES}/alerts.ts`,
    find: "while (first > 0 && valueAt(first - 1) !== null) first--;",
    replace: "first = Math.max(0, last - rule.forSec);",
    why: "a condition that holds now and then fires like one that has held all the time",
    test: {
      file: ALERTS_TEST,
      name: "do not fire over a break of their condition, nor over a point that nobody told of",
    },
  },
  {
    name: "an alert takes what a silent node has for lacking",
    file: `${SERIES}/alerts.ts`,
    find: "(rule.needsAll && !series.isWhole(point))",
    replace: "(rule.needsAll && series.length === 0)",
    why: "a node that is slow to answer looks like shards without an owner",
    test: { file: ALERTS_TEST, name: "do not take what a silent node has for lacking" },
  },
];
