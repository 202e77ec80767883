import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const TABLE = `${SERVER}/adapters/simulated/ingest-table.ts`;
const TAKE_IN = `${SERVER}/adapters/sql/ingest/take-in.ts`;
const SQL_TEST = `${SERVER}/adapters/sql/sql-store.test.ts`;
const LISTED = {
  file: `${SERVER}/adapters/simulated/sim-store.test.ts`,
  name: "lists refused records, the last refusal first, without those that a replay took in and those of a former topic",
};
const HANDLE = "packages/sdk/src/client/handle.ts";
const CLIENT_TEST = "packages/sdk/src/client/client.test.ts";
const TAKER = `${SERVER}/api/requests/record-taker.ts`;

/** Mutants in the way of jobs through the log of requests. */
export const ingestMutants: readonly Mutant[] = [
  {
    name: "a position moves from wherever it is",
    file: TABLE,
    find: "if (at === undefined || at.topic !== topic || at.next !== from) return false;",
    replace: "if (at === undefined || at.topic !== topic) return false;",
    why: "a node that was replaced takes records in again, and moves the position back",
  },
  {
    name: "a replay takes records in again",
    file: TABLE,
    find: `return entry?.id === id && entry.end.state === "TAKEN_IN";`,
    replace: `return entry?.id !== id && entry?.end.state === "TAKEN_IN";`,
    why: "a job whose unique key is free again runs a second time after a seek",
  },
  {
    name: "a record has another id in each reading",
    file: `${SERVER}/api/requests/log-record.ts`,
    find: "const id = isGiven ? given : derivedId(topic, partition, record);",
    replace: "const id = isGiven ? given : derivedId(`${topic} ${now}`, partition, record);",
    why: "a replay does not recognise the jobs of other programs, and writes them again",
  },
  {
    name: "a position moves past what was not read",
    file: TAKER,
    find: "const after = isLast ? next : (step.at(-1) as LogRecord).offset + 1;",
    replace: "const after = next + (isLast ? 1 : 0);",
    why: "a record that is written a moment later is never taken in",
  },
  {
    name: "refusals are marked before the log is told of them",
    file: `${SERVER}/api/requests/refusal-teller.ts`,
    find: "        await this.#writer.tellRefused(refusals);\n        await store.told(refusals);",
    replace: "        await store.told(refusals);\n        await this.#writer.tellRefused(refusals);",
    why: "a producer never learns of its refused records if the log is down",
  },
  {
    name: "fresh records are written wherever the position is",
    file: TAKE_IN,
    find: "SELECT w.* FROM moved, (${NEW_JOBS}) w",
    replace: "SELECT w.* FROM (${NEW_JOBS}) w",
    why: "two nodes that read the same records write the jobs of each of their readings",
    test: {
      file: SQL_TEST,
      name: "writes the jobs of records with the position behind them, and only from where the position is",
    },
  },
  {
    name: "a replay counts as a first reading",
    file: TAKE_IN,
    find: " AND replay_until <= $23 RETURNING 1",
    replace: " RETURNING 1",
    why: "a job that was deleted since runs again after a seek",
    test: {
      file: `${SERVER}/adapters/sql/requests/take-in.test.ts`,
      name: "writes no job of a record that was taken in before, also when the row of that job is gone",
    },
  },
  {
    name: "events are told of records that are not taken in",
    file: TAKE_IN,
    find: "told AS (${insertFrom(28)} FROM moved)",
    replace: "told AS (${insertFrom(28)})",
    why: "sinks hear of jobs that do not exist",
    test: {
      file: `${SERVER}/adapters/sql/requests/take-in.test.ts`,
      name: "leaves the event of each job once, and none of a portion from another position",
    },
  },
  {
    name: "a record that a replay takes in stays refused",
    file: TABLE,
    find: "      this.#refusals.delete(key);\n",
    replace: "",
    why: "the list of refused records names a job that is there",
    test: LISTED,
  },
  {
    name: "a page of refused records begins with the last one of the page before",
    file: TABLE,
    find: "inOrder(one, before) < 0",
    replace: "inOrder(one, before) <= 0",
    why: "a client that reads all pages sees a record twice, and never ends where a page has one",
    test: LISTED,
  },
  {
    name: "a handle asks for the execution before its job is taken in",
    file: HANDLE,
    find: "if (this.#request === null) return this.#current;",
    replace: `if (this.#request !== "") return this.#current;`,
    why: "the result of a job that came through Kafka is said not to exist",
    test: {
      file: CLIENT_TEST,
      name: "waits until a job that came through Kafka is taken in, and then for the execution that its key leads to",
    },
  },
];
