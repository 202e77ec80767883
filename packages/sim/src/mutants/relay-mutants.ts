import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const RELAY = `${SERVER}/relay/sink-relay.ts`;
const RELAY_TEST = `${SERVER}/relay/sink-relay.test.ts`;
const CURSOR = `${SERVER}/relay/relay-cursor.ts`;
const CURSOR_TEST = `${SERVER}/relay/relay-cursor.test.ts`;
const BUDGET_TEST = `${SERVER}/relay/outbox-budget.test.ts`;
const SINKS = `${SERVER}/adapters/sql/events/event-sinks.ts`;
const TABLE = `${SERVER}/adapters/simulated/rows/event-table.ts`;
const SQL_TEST = `${SERVER}/adapters/sql/sql-store.test.ts`;

/** Mutants in the way of lifecycle events to sinks. */
export const relayMutants: readonly Mutant[] = [
  {
    name: "the position of a sink advances before the delivery is acknowledged",
    file: RELAY,
    find: `    await sink.deliver(rows);
    await positions.advanceSink(sink.name, this.#cursor.delivered(rows));`,
    replace: `    await positions.advanceSink(sink.name, this.#cursor.delivered(rows));
    await sink.deliver(rows);`,
    why: "events of a delivery that failed never reach the sink",
    test: {
      file: RELAY_TEST,
      name: "waits longer and longer while the sink or the store is down, and brings everything then",
    },
  },
  {
    name: "a new sink begins behind the newest row",
    file: TABLE,
    find: "if (!sink.at.has(shard)) sink.at.set(shard, this.#floors.get(shard) ?? BEFORE_ALL);",
    replace: "if (!sink.at.has(shard)) sink.at.set(shard, this.newest().get(shard) ?? BEFORE_ALL);",
    why: "the sink lacks events that were kept before a node first named it",
    test: { file: RELAY_TEST, name: "brings the rows of the node's shards, soon after a commit" },
  },
  {
    name: "a new owner begins behind the newest row",
    file: TABLE,
    find: "return new Map(shards.map((shard) => [shard, sink.at.get(shard) ?? BEFORE_ALL]));",
    replace: "return new Map(shards.map((shard) => [shard, this.newest().get(shard) ?? BEFORE_ALL]));",
    why: "the sink never gets rows that the owner before has not brought",
    test: {
      file: RELAY_TEST,
      name: "stores positions only of acknowledged rows, so the next owner repeats the others",
    },
  },
  {
    name: "a relay keeps its position when the node owns a shard anew",
    file: CURSOR,
    find: "if (owned.get(shard) !== epoch) this.#shards.delete(shard);",
    replace: "if (!owned.has(shard)) this.#shards.delete(shard);",
    why: "rows that another owner has brought meanwhile come again",
    test: { file: CURSOR_TEST, name: "follows the shards that the node owns, each from the position of its ownership" },
  },
  {
    name: "a relay tells of no gap",
    file: CURSOR,
    find: "if (isBefore(at, floor)) gaps.push(",
    replace: "if (isBefore(floor, at)) gaps.push(",
    why: "the relay never gets past rows that the store has removed",
    test: { file: CURSOR_TEST, name: "tells of gaps only in shards whose rows the store removed too early" },
  },
  {
    name: "the budget of events lets the newest rows go first",
    file: `${SERVER}/relay/outbox-budget.ts`,
    find: "for (const one of this.#counted) {",
    replace: "for (const one of this.#counted.toReversed()) {",
    why: "all older rows of the shard go with them",
    test: {
      file: BUDGET_TEST,
      name: "lets the rows go that were counted first, when they exceed the share of the node's shards",
    },
  },
  {
    name: "a stored position of a sink falls",
    file: SINKS,
    find: "AND s.shard = a.shard AND (a.epoch, a.seq) > (s.epoch, s.seq)",
    replace: "AND s.shard = a.shard",
    why: "a node that lost its shards sets the next owner back",
    test: { file: SQL_TEST, name: "keeps the positions of sinks, which only grow" },
  },
  {
    name: "retention does not wait for sinks",
    file: `${SERVER}/adapters/sql/events/retire-events.ts`,
    find: "AND (s.epoch, s.seq) < (o.epoch, o.seq))",
    replace: "AND false)",
    why: "a sink that is down for longer than events are kept loses them",
    test: {
      file: SQL_TEST,
      name: "keeps events until every sink has them, and forgets a sink that no node names for a day",
    },
  },
];
