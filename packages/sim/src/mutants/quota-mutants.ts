import type { Mutant } from "./mutant.ts";

const QUOTAS = "packages/server/src/api/quotas";
const SUBMIT = "packages/server/src/api/submit";
const REQUESTS = "packages/server/src/api/requests";
const HTTP = "packages/server/src/api/http";
const TEST = `${QUOTAS}/quotas.test.ts`;
const REQUESTS_TEST = "packages/server/src/request-tenants.test.ts";
const CONNECTIONS_TEST = `${HTTP}/connections.test.ts`;
const QUEUE_TEST = `${SUBMIT}/fair-queue.test.ts`;

/** Mutants in the quotas of tenants, in the queue in front of the store, and in the admission of connections and bodies. */
export const quotaMutants: readonly Mutant[] = [
  {
    name: "a quota is charged for a repeat",
    file: `${QUOTAS}/submit-under.ts`,
    find: 'charge.end(outcome.kind === "ACCEPTED" && !outcome.replayed ? "WRITTEN" : "NOTHING");',
    replace: 'charge.end("WRITTEN");',
    why: "a client that repeats its requests uses up its quota without a new job",
    test: { file: TEST, name: "cost a repeat within a quota nothing" },
  },
  {
    name: "a repeat over a quota is refused",
    file: `${QUOTAS}/submit-under.ts`,
    find: "    if (known === null) throw error;\n    return known;",
    replace: "    if (known !== undefined) throw error;\n    return known;",
    why: "a client never learns that its job was accepted",
    test: { file: TEST, name: "answer a repeat of an accepted request, over a quota or not" },
  },
  {
    name: "a batch is charged by half",
    file: `${QUOTAS}/quotas.ts`,
    find: 'for (const counted of charged) this.#account(tenant, counted).end(counted.amount, "NOTHING");',
    replace: "",
    why: "a refused batch leaves a part of its charge",
    test: { file: TEST, name: "charge a batch whole or refuse it whole, and refuse for good one that never fits" },
  },
  {
    name: "submits under way have no places",
    file: `${QUOTAS}/quota-account.ts`,
    find: "untilMs > nowMs);\n    const held = this.#unknown.reduce((sum, { amount }) => sum + amount, this.#held);",
    replace: "untilMs > nowMs);\n    const held = 0;",
    why: "two nodes take the same places, and more executions wait than the tenant may have",
    test: {
      file: TEST,
      name: "never let submits of any node exceed what may wait, and let one node fill all of it",
    },
  },
  {
    name: "a submit of unknown outcome gives its places back",
    file: `${QUOTAS}/quota-account.ts`,
    find: 'if (end === "UNKNOWN" && this.#isOfPlaces)',
    replace: 'if (end !== "UNKNOWN" && end === "UNKNOWN")',
    why: "rows of a commit whose answer was lost appear after their places were taken by others",
    test: {
      file: TEST,
      name: "keep the places of a submit of unknown outcome until its rows can no longer appear",
    },
  },
  {
    name: "a charge takes more than the portion of the node",
    file: `${QUOTAS}/quota-account.ts`,
    find: "      if (amount > this.#free) break;",
    replace: "",
    why: "submits that wait for one answer of the store exceed the rate together",
    test: { file: TEST, name: "never exceed a rate in sum, whatever nodes charge it" },
  },
  {
    name: "all tenants wait in one line",
    file: `${SUBMIT}/fair-queue.ts`,
    find: "  push(item: Q): void {",
    replace: '  push(given: Q): void {\n    const item = { ...given, tenant: "" };',
    why: "a tenant that floods the API holds up the submits of all others",
    test: {
      file: QUEUE_TEST,
      name: "takes a submission of another tenant with the next group, behind any number of one tenant",
    },
  },
  {
    name: "a turn ends with the group",
    file: `${SUBMIT}/fair-queue.ts`,
    find: "        if (!fits(item)) return group;",
    replace: "        if (!fits(item)) {\n          this.#endTurn(tenant, line);\n          return group;\n        }",
    why: "the tenant that fills a group loses the rest of its turn, so large submissions get less than their weight",
    test: { file: QUEUE_TEST, name: "goes on with the turn of a tenant in the next group" },
  },
  {
    name: "one tenant fills the queue",
    file: `${SUBMIT}/submitter.ts`,
    find: "    if (own.jobs === 0 || this.#deps.tenants?.hasSeveral !== true) return false;",
    replace: "    if (own.jobs >= 0) return false;",
    why: "every other tenant is told that too many submits wait",
    test: {
      file: `${SUBMIT}/submitter.test.ts`,
      name: "lets a tenant fill at most half of what is free beside others, and takes one submission of each",
    },
  },
  {
    name: "places of requests stay unknown",
    file: `${REQUESTS}/request-judge.ts`,
    find: 'charge.end(taken === null ? "UNKNOWN" : written.has(decision) ? "WRITTEN" : "NOTHING");',
    replace: 'charge.end("UNKNOWN");',
    why: "jobs that were taken in count twice for 15 seconds, so later requests are refused below the limit",
    test: { file: REQUESTS_TEST, name: "are charged to the tenant's quotas, and refused over them" },
  },
  {
    name: "jobs that are taken in have no audit record",
    file: `${REQUESTS}/request-judge.ts`,
    find: "if (source === undefined) return [];",
    replace: "if (source !== undefined) return [];",
    why: "the audit log lacks the submits that come through SQL and Kafka",
    test: { file: REQUESTS_TEST, name: "have records in the audit log, one for each transaction and tenant" },
  },
  {
    name: "a busy unknown connection is closed",
    file: `${HTTP}/connections.ts`,
    find: "if (isBusy(socket)) continue;",
    replace: "",
    why: "the answer to a health check is cut off",
    test: {
      file: CONNECTIONS_TEST,
      name: "that are unknown give way once they are a second old: the oldest without a request is closed",
    },
  },
  {
    name: "a closed connection stays with its tenant",
    file: `${HTTP}/connections.ts`,
    find: "this.#countFor(socket, null);",
    replace: "",
    why: "a tenant that has opened so many connections in all is refused for ever",
    test: {
      file: CONNECTIONS_TEST,
      name: "count for the tenant of their last request, up to its bound where there are several tenants",
    },
  },
  {
    name: "one tenant fills the memory for bodies",
    file: `${HTTP}/body/body-budget.ts`,
    find: "own === bytes || own - bytes + counted <= part",
    replace: "own === bytes || part !== null",
    why: "batches of other tenants are refused while one tenant floods the node with them",
    test: {
      file: `${HTTP}/body/body-budget.test.ts`,
      name: "the bodies of a tenant beside others take half of what the others leave, and a single one is taken",
    },
  },
];
