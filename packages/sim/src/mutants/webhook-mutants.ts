import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const ENGINE = `${SERVER}/engine/events.ts`;
const ENGINE_TEST = `${SERVER}/engine/webhooks.test.ts`;
const TABLE = `${SERVER}/adapters/simulated/rows/webhook-table.ts`;
const TABLE_TEST = `${SERVER}/adapters/simulated/sim-store.test.ts`;
const SENDER = `${SERVER}/relay/webhooks/webhook-sender.ts`;
const SENDER_TEST = `${SERVER}/relay/webhooks/webhook-sender.test.ts`;
const FLIGHTS = `${SERVER}/relay/webhooks/flights.ts`;
const FLIGHTS_TEST = `${SERVER}/relay/webhooks/flights.test.ts`;

/** Mutants in the way of ends to the receivers of webhooks. */
export const webhookMutants: readonly Mutant[] = [
  {
    name: "ends are delivered only where the node has events",
    file: ENGINE,
    find: "if (!state.events && onFinish === undefined) return;",
    replace: "if (!state.events) return;",
    why: "no receiver is told of an end on a server without MAINSPRING_EVENTS",
    test: {
      file: ENGINE_TEST,
      name: "tell the end of an execution that asks for it, whether or not the node has events",
    },
  },
  {
    name: "a refused end is not delivered as a dead letter",
    file: ENGINE,
    find: "if (event.executionId === id) deliver(next, shard,",
    replace: "if (event.executionId === shard.toString()) deliver(next, shard,",
    why: "nobody is told of an execution whose result the store refuses",
    test: { file: ENGINE_TEST, name: "tell the end that is written in the place of one that the store refuses" },
  },
  {
    name: "deliveries of rows that a commit missed are kept",
    file: `${SERVER}/adapters/simulated/rows/commit.ts`,
    find: "if (ended.has(delivery.event.executionId)) data.webhooks.add(",
    replace: "if (ended.size >= 0) data.webhooks.add(",
    why: "a receiver is told of an end that was not written",
    test: {
      file: TABLE_TEST,
      name: "keeps no delivery of a row that is missed or refused, or of a shard that another node owns",
    },
  },
  {
    name: "a late result of a try counts, too",
    file: TABLE,
    find: `if (row?.state === "PENDING" && row.tries === delivery.tries)`,
    replace: `if (row?.state === "PENDING")`,
    why: "the owner before ends the tries of the present one",
    test: { file: TABLE_TEST, name: "keeps the result of a try once, and tries again when it is time" },
  },
  {
    name: "a failed try ends the delivery",
    file: `${SERVER}/relay/webhooks/judge-answer.ts`,
    find: "const nextAt = isGone ? null :",
    replace: "const nextAt = status !== null ? null :",
    why: "a receiver that answers 503 once is never told",
    test: { file: SENDER_TEST, name: "waits for as long as the receiver says" },
  },
  {
    name: "a result leaves its place before it is kept",
    file: SENDER,
    find: "    this.#results.push(result);",
    replace: "    this.#results.push(result);\n    this.#flights.leave(delivery);",
    why: "the delivery is sent again and again while the store does not answer",
    test: {
      file: SENDER_TEST,
      name: "sends nothing again while the store does not keep a result, and reads again after an outage",
    },
  },
  {
    name: "webhooks that fail take all places",
    file: FLIGHTS,
    find: "if (isFailing && this.#ofFailing >= FAILING_ALL_MAX) return false;",
    replace: "if (isFailing && this.#ofFailing >= ALL_MAX) return false;",
    why: "receivers that hang hold up all others",
    test: { file: FLIGHTS_TEST, name: "to webhooks that fail leave half of all places to the others" },
  },
];
