import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const TOLD = `${SERVER}/adapters/sql/commit/told-events.ts`;
const SIMULATED = `${SERVER}/adapters/simulated/rows/commit-events.ts`;
const SQL_TEST = `${SERVER}/adapters/sql/sql-store.test.ts`;
const SIM_TEST = `${SERVER}/adapters/simulated/sim-store.test.ts`;
const ENGINE_TEST = `${SERVER}/engine/events.test.ts`;

/** Mutants in lifecycle events. */
export const eventMutants: readonly Mutant[] = [
  {
    name: "events of missed rows are kept",
    file: TOLD,
    find: "nullif(m.changes || m.expected${",
    replace: "nullif(m.expected${",
    why: "readers learn of an end that was never written",
    test: {
      file: SQL_TEST,
      name: "keeps no event of a row that is missed, of an unexpected one, or of a shard that another node owns",
    },
  },
  {
    name: "events of hinted rows that are not as expected are kept",
    file: TOLD,
    find: "nullif(m.changes || m.expected${",
    replace: "nullif(m.changes || '{}'::uuid[]${",
    why: "readers learn of an assignment that was never sent",
    test: {
      file: SQL_TEST,
      name: "keeps no event of a row that is missed, of an unexpected one, or of a shard that another node owns",
    },
  },
  {
    name: "the event of a node that is not created is kept",
    file: TOLD,
    find: '${running ? " || m.nodes" : ""}',
    replace: "",
    why: "readers learn of an execution that does not exist",
    test: { file: SQL_TEST, name: "keeps no event of a node that is not created" },
  },
  {
    name: "events of missed plans are kept",
    file: TOLD,
    find: 'planning ? " || m.plans || o.uncreated" : ""',
    replace: 'planning ? " || o.uncreated" : ""',
    why: "readers learn of instants that another owner has judged otherwise",
    test: {
      file: SQL_TEST,
      name: "keeps what plans create and skip, if the plan is not missed, and tells a held key as a skip",
    },
  },
  {
    name: "a member of the inbox is deleted without its events",
    file: TOLD,
    find: "coalesce((SELECT b.events FROM event_bundle b WHERE b.shard = t.shard), ''::bytea) AS events${",
    replace: "''::bytea AS events${",
    why: "nobody learns of accepted jobs",
    test: { file: SQL_TEST, name: "leaves the event of each accepted job for its owner, once" },
  },
  {
    name: "events of a refused change are kept",
    file: `${SERVER}/adapters/sql/commit/offending-rows.ts`,
    find: '!left.has(executionId ?? "")',
    replace: "executionId !== undefined",
    why: "readers learn of a success whose result the store has refused",
    test: { file: SQL_TEST, name: "keeps no event of a change that the store refuses" },
  },
  {
    name: "a repeat of an accepted submission leaves its event again",
    file: `${SERVER}/adapters/simulated/rows/submit.ts`,
    find: "  if (repeated !== null) return repeated;\n",
    replace:
      "  if (repeated !== null) {\n    data.leave(() => inboxOfJobs(submission.jobs));\n    return repeated;\n  }\n",
    why: "readers count a job twice, the second time under an id that does not exist",
    test: { file: SIM_TEST, name: "leaves the event of each accepted job for its owner, once" },
  },
  {
    name: "retention removes events and tells nobody",
    file: `${SERVER}/adapters/sql/events/retire-events.ts`,
    find: "SELECT shard, epoch, seq FROM last\n    ON CONFLICT",
    replace: "SELECT shard, epoch, seq FROM last WHERE epoch < 0\n    ON CONFLICT",
    why: "a reader that was away misses events without notice",
    test: { file: SQL_TEST, name: "forgets old events, and says so to readers that are behind" },
  },
  {
    name: "simulated: events of missed rows are kept",
    file: SIMULATED,
    find: "told.events.flatMap((event) => asWritten(event, { missed, held, unrecorded }))",
    replace: "told.events.flatMap((event) => asWritten(event, { missed: new Set(), held, unrecorded }))",
    why: "readers learn of an end that was never written",
    test: {
      file: SIM_TEST,
      name: "keeps no event of a row that is missed, of an unexpected one, or of a shard that another node owns",
    },
  },
  {
    name: "the start of an attempt is told with its own row and with its end",
    file: `${SERVER}/engine/events.ts`,
    find: "  assigned.isStartTold = true;\n",
    replace: "",
    why: "each attempt that runs for long takes an event more",
    test: {
      file: ENGINE_TEST,
      name: "tell the start with the own row of an attempt that runs for long, and not again",
    },
  },
  {
    name: "the end in the place of a refused one is not told",
    file: `${SERVER}/engine/attempts/dead-letter-refused.ts`,
    find: "    retellAsDead(answered.shards.get(shard), next, shard, change.id);\n",
    replace: "",
    why: "readers wait for the end of an execution that is a dead letter",
    test: { file: ENGINE_TEST, name: "tell the end that is written in the place of one that the store refuses" },
  },
  {
    name: "events of nodes that a batch does not create any more stay in it",
    file: `${SERVER}/engine/batch.ts`,
    find: "      withdrawEvents(draft, new Set(own));\n",
    replace: "",
    why: "readers learn of an execution that does not exist",
    test: { file: ENGINE_TEST, name: "are taken back with the nodes of a run whose last end the store has refused" },
  },
  {
    name: "the assignment of a node at its creation is not told",
    file: `${SERVER}/engine/runs/born-assigned.ts`,
    find: "  tellAssigned(step, row, assigned);\n",
    replace: "",
    why: "an attempt starts that was never assigned",
    test: { file: ENGINE_TEST, name: "are taken back with the nodes of a run whose last end the store has refused" },
  },
  {
    name: "a repeated record of a step is told again",
    file: TOLD,
    find: '${stepping ? `, ${UNRECORDED}` : ""}',
    replace: '${stepping ? ", NULL" : ""}',
    why: "readers see two values of a step of which one counts",
    test: {
      file: SQL_TEST,
      name: "keeps the event of a step's first value, also after a wait, and of no other record",
    },
  },
  {
    name: "the simulated store keeps the event of a repeated record",
    file: SIMULATED,
    find: "const repeated = steps.filter((step) => !written.has(step));",
    replace: 'const repeated = steps.filter((step) => !written.has(step) && step.kind === "WAIT");',
    why: "readers see two values of a step of which one counts",
    test: {
      file: SIM_TEST,
      name: "keeps the event of a step's first value, also after a wait, and of no other record",
    },
  },
  {
    name: "the end of a suspended attempt is not told",
    file: `${SERVER}/engine/events.ts`,
    find: "if (!state.events || kind === null) return;",
    replace: 'if (!state.events || kind !== "JobFailed") return;',
    why: "no trace shows the time that workers spent before a sleep",
    test: {
      file: ENGINE_TEST,
      name: "tell each attempt that suspends, also where the execution is cancelled meanwhile",
    },
  },
  {
    name: "checkpoints are told as steps",
    file: `${SERVER}/engine/attempts/steps.ts`,
    find: 'if (isWritten && kind === "RESULT") tellRecorded',
    replace: "if (isWritten) tellRecorded",
    why: "each checkpoint of a handler is an event, all of them with one id",
    test: { file: ENGINE_TEST, name: "tell the first value of each step, and no checkpoint" },
  },
  {
    name: "events of records that the store has refused are repeated",
    file: `${SERVER}/engine/events.ts`,
    find: 'if (event.executionId !== id || event.kind === "StepRecorded") continue;',
    replace: "if (event.executionId !== id) continue;",
    why: "readers learn of a value that no attempt will ever get",
    test: { file: ENGINE_TEST, name: "tell no step whose record the store has refused with the row" },
  },
  {
    name: "the end of a session has an id of its own",
    file: `${SERVER}/gateway/worker-events.ts`,
    find: 'this.#add({ ...eventOf(profile, session, this.#deps.runtime.now()), kind: "WorkerDead", reason });',
    replace:
      'const { runtime } = this.#deps;\n    this.#add({ ...eventOf(profile, session && runtime.uuid(), runtime.now()), kind: "WorkerDead", reason });',
    why: "no reader can tell which worker is gone",
    test: {
      file: `${SERVER}/gateway/worker-events.test.ts`,
      name: "tell the begin and the end of a session under one id, once a second",
    },
  },
  {
    name: "events of workers that got no answer are forgotten",
    file: `${SERVER}/gateway/worker-events.ts`,
    find: "    if (this.#unsure.length === 0) {\n",
    replace: "    if (this.#unsure.length >= 0) {\n",
    why: "a session ends that nobody has heard of",
    test: {
      file: `${SERVER}/gateway/worker-events.test.ts`,
      name: "wait for a store that is away under the same ids, and come before later ones",
    },
  },
];
