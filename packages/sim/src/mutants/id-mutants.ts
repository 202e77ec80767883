import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const OF_JOB = `${SERVER}/adapters/sql/executions/of-job.ts`;
const ON_POSTGRES = `${SERVER}/adapters/sql/sql-store.test.ts`;
const LATER = `${SERVER}/adapters/sql/schema/later-executions.test.ts`;

/** Mutants in ids that say where a job is, and in the reads that rely on such ids. */
export const idMutants: readonly Mutant[] = [
  {
    name: "steering ignores the shard",
    file: `${SERVER}/domain/steered-id.ts`,
    find: "if (shardAfter(state, ending) === shard) return front + ENDINGS[ending];",
    replace: "return front + ENDINGS[ending];",
    why: "a job's id is not in the shard that the node chose, so another node assigns it",
    test: { file: `${SERVER}/domain/steered-id.test.ts`, name: "is in the wanted shard" },
  },
  {
    name: "every job of a time ends alike",
    file: `${SERVER}/domain/steered-id.ts`,
    find: "const ending = (own + step) % ENDINGS.length;",
    replace: "const ending = step;",
    why: "ids lose the random digits of their end",
    test: {
      file: `${SERVER}/domain/steered-id.test.ts`,
      name: "has one of about 64 endings, as the random ending of the id decides",
    },
  },
  {
    name: "jobs that wait are steered",
    file: `${SERVER}/api/submit/new-job.ts`,
    find: "if (concurrencyKey !== null || scheduledAt > createdAt) return id;",
    replace: "if (concurrencyKey !== null) return id;",
    why: "all that one client plans for an instant falls to the shards of one node",
    test: {
      file: `${SERVER}/api/submit/new-job.test.ts`,
      name: "is in the shard of its random id where the node owns none, and where it waits for its time or recurs",
    },
  },
  {
    name: "steering to a shard that was lost",
    file: `${SERVER}/api/submit/own-shards.ts`,
    find: "if (this.#left === 0 || !this.#isOwn(this.#shard)) {",
    replace: "if (this.#left === 0) {",
    why: "up to a hundred jobs go to a shard that another node has taken over",
    test: {
      file: `${SERVER}/api/submit/own-shards.test.ts`,
      name: "are none while the node owns none, and follow takeovers at once",
    },
  },
  {
    name: "first executions by their trigger alone",
    file: OF_JOB,
    find: "return `(${e}.trigger <> ${TRIGGER_CODES.API} OR uuid_send(${e}.id) <> ${firstBytes(`${e}.job_id`)})`;",
    replace: "return `(${e}.trigger <> ${TRIGGER_CODES.API})`;",
    why: "an execution that a node of the release before has created is not found by its job",
    test: {
      file: LATER,
      name: "and its successor answer for rows of both releases, and of nodes that write as before later on",
    },
  },
  {
    name: "only the first execution counts",
    file: OF_JOB,
    find: "return `(${isFirst(jobId, where)} OR (${later}) IS NOT NULL)`;",
    replace: "return `(${isFirst(jobId, where)} OR (${later}) IS NULL AND false)`;",
    why: "a job that runs again is called finished, and retention deletes it while it runs",
    test: {
      file: ON_POSTGRES,
      name: "keeps its job for as long as one of them, and payloads of former versions that they ran by",
    },
  },
  {
    name: "jobs go before their first executions",
    file: `${SERVER}/adapters/sql/schema/maintain.ts`,
    find: "EXISTS (SELECT FROM executions e WHERE e.id >= $1 AND e.id < $2 AND e.trigger = ${TRIGGER_CODES.API})",
    replace: "$1 = $2::uuid",
    why: "upkeep drops the month of a job whose execution is kept",
    test: {
      file: `${SERVER}/adapters/sql/schema/retention.test.ts`,
      name: "keeps what lives, however old, and takes the rest of its month away",
    },
  },
  {
    name: "the former index goes under old nodes",
    file: `${SERVER}/adapters/sql/schema/late-indexes.ts`,
    find: 'if (!isOn("LATER_EXECUTIONS", level)) return;',
    replace: "",
    why: "each read by job of a node of the release before scans all executions",
    test: {
      file: LATER,
      name: "takes the place of the index of all executions, once every node does without that one",
    },
  },
  {
    name: "unknown leases are no nodes",
    file: `${SERVER}/adapters/sql/cluster/compatibility.ts`,
    find: "living.length === 0 ? FIRST_LEVEL : Math.min(level, ...living)",
    replace: "Math.min(level, ...living)",
    why: "after a crash of PostgreSQL upkeep acts as if every node had the newest level",
    test: {
      file: LATER,
      name: "takes no place within a day of the upgrade, nor where the leases of the nodes are unknown",
    },
  },
];
