import type { Mutant } from "./mutant.ts";

const FOLLOWER = "packages/server/src/api/events/event-follower.ts";
const LOG = "packages/server/src/api/events/event-log.ts";
const TEST = "packages/server/src/api/events/event-follower.test.ts";

/** Mutants in the stream of lifecycle events. */
export const eventStreamMutants: readonly Mutant[] = [
  {
    name: "a follower of events joins the node before it has met it",
    file: FOLLOWER,
    find: "if (until === null && known !== null && (isEmpty || covers(this.#position, known))) {",
    replace: "if (until === null && known !== null) {",
    why: "a client that goes on behind an old position misses events",
    test: { file: TEST, name: "reads pages until it meets the node's rows" },
  },
  {
    name: "a follower of events forgets its end once it has met the node",
    file: FOLLOWER,
    find: "if (until === null && known !== null && (isEmpty || covers(this.#position, known))) {",
    replace: "if (known !== null && (isEmpty || covers(this.#position, known))) {",
    why: "a stream that is to end at the present never ends",
    test: { file: TEST, name: "ends at its end, although it meets the node's rows before" },
  },
  {
    name: "a follower of events trusts an empty page from before",
    file: FOLLOWER,
    find: "this.#page = first === null || first.length === 0 ? null : first;",
    replace: "this.#page = first;",
    why: "a client misses what was written while its stream began",
    test: { file: TEST, name: "reads again where a page was empty before the node read rows" },
  },
  {
    name: "a follower of events is told rows that it has",
    file: FOLLOWER,
    find: "if (known !== undefined && !isBefore(known, row)) return;",
    replace: "",
    why: "a client gets events twice, in the wrong order",
    test: { file: TEST, name: "gets every row in the order of its shard, whatever happens (seed 1)" },
  },
  {
    name: "a follower of events gets the node's position before it is even",
    file: FOLLOWER,
    find: "const token = this.#isEven ? logged.token : null;",
    replace: "const { token } = logged;",
    why: "positions of a stream go back",
    test: { file: TEST, name: "is told no position that goes back where it was ahead of the node" },
  },
  {
    name: "a slow follower of events waits for dropped rows",
    file: LOG,
    find: "return number < this.#first ? null : this.#rows[number - this.#first];",
    replace: "return this.#rows[Math.max(0, number - this.#first)];",
    why: "a client that reads slowly misses events",
    test: { file: TEST, name: "reads the store by itself where it was too slow for the node's memory" },
  },
];
