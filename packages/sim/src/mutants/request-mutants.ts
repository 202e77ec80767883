import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const TABLE = `${SERVER}/adapters/simulated/rows/request-table.ts`;
const TAKE_IN = `${SERVER}/adapters/sql/requests/take-in.ts`;
const TABLE_TEST = `${SERVER}/adapters/simulated/sim-store.test.ts`;

const EXECUTION_RUNS = "packages/server/src/api/executions/execution-runs.ts";
const EXECUTION_RUNS_TEST = "packages/server/src/api/executions/execution-runs.test.ts";

/** Mutants in the way of requests of applications, and in runs over executions. */
export const requestMutants: readonly Mutant[] = [
  {
    name: "a request that one node takes in is given to another one, too",
    file: TABLE,
    find: "end === null && (held === null || held.until <= now)",
    replace: "end === null && (held === null || held.until >= 0)",
    why: "two nodes write a job each for one request, or one of them fails",
    test: { file: TABLE_TEST, name: "gives requests that another call takes in to no second one" },
  },
  {
    name: "a request that was refused loses its body",
    file: TABLE,
    find: `if (end.state === "TAKEN_IN") row.body = null;`,
    replace: "row.body = null;",
    why: "nobody can correct a job that was refused",
    test: { file: TABLE_TEST, name: "keeps the problem and the body of a refused request" },
  },
  {
    name: "open requests are forgotten",
    file: TABLE,
    find: "if (finishedAt !== null && finishedAt < now - kept * DAY_MS)",
    replace: "if ((finishedAt ?? 0) < now - kept * DAY_MS)",
    why: "a committed submit is lost when upkeep runs before a node takes it in",
    test: { file: TABLE_TEST, name: "forgets requests that have ended some time ago, and no open one" },
  },
  {
    name: "a request stays open while its job is written",
    file: TAKE_IN,
    find: "FROM n WHERE r.id = n.job_id",
    replace: "FROM n WHERE r.id = n.id",
    why: "each look takes the request in again, and its job is refused as a second one of its id",
    test: {
      file: `${SERVER}/adapters/sql/sql-store.test.ts`,
      name: "takes requests in, in order of their ids, and writes their jobs",
    },
  },
  {
    name: "jobs with keys are written like those without",
    file: TAKE_IN,
    find: "return job !== undefined && isOnce(job) && !isKeyed(decision);",
    replace: "return job !== undefined && isOnce(job);",
    why: "a repeat of a submit with an idempotency key makes a second job",
    test: {
      file: `${SERVER}/adapters/sql/sql-store.test.ts`,
      name: "answers repeats of idempotency keys and unique keys with the job that has them",
    },
  },
  {
    name: "a large body is checked in one go",
    file: `${SERVER}/api/requests/request-judge.ts`,
    find: "if (from > 0 && turns.isOver) await turns.next();",
    replace: "",
    why: "a record of 1 MiB holds the event loop for many turns",
    test: {
      file: `${SERVER}/api/requests/request-judge.test.ts`,
      name: "checks a large body piece by piece, and a turn of the event loop that is over ends between pieces",
    },
  },
  {
    name: "a run over executions reaches those that came after its start",
    file: EXECUTION_RUNS,
    find: "until: Math.min(until, createdAt)",
    replace: "until: filter.until",
    why: "a run that cancels all that match cancels what is submitted while it works",
    test: { file: EXECUTION_RUNS_TEST, name: "leave executions alone that were created after the start" },
  },
  {
    name: "a repeated chunk of a run over executions retries again",
    file: EXECUTION_RUNS,
    find: "held.chunk ?? (await",
    replace: "null ?? (await",
    why: "a chunk that another node had begun runs its executions twice",
    test: { file: EXECUTION_RUNS_TEST, name: "go on where a killed node has left a chunk, and retry nothing twice" },
  },
  {
    name: "a key of one run over executions begins another",
    file: EXECUTION_RUNS,
    find: 'if (outcome.kind === "KEY_REUSED") throw',
    replace: 'if (outcome.kind === "KEY_REUSED" && idempotencyKey === null) throw',
    why: "another run with the same key is answered as if it had begun",
    test: { file: EXECUTION_RUNS_TEST, name: "begin once for an idempotency key" },
  },
];
