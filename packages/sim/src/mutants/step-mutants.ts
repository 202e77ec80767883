import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const STORY = `${SERVER}/engine/attempts/steps.test.ts`;

/** Mutants in the way of a handler's records: owner, gateway and store. */
export const stepMutants: readonly Mutant[] = [
  {
    name: "records of attempts that are over count",
    file: `${SERVER}/engine/attempts/steps.ts`,
    find: "if (found === null) return refuse(step, from, workerId, report);",
    replace:
      "if (found === null) return step.batch.record(shard, { executionId, name, kind, attempt, number, at: step.now, data });",
    why: "a worker that was given up overwrites the checkpoint of the attempt after its own",
    test: { file: STORY, name: "is refused where its attempt is not current" },
  },
  {
    name: "records are not given to later attempts",
    file: `${SERVER}/engine/queue/assignment.ts`,
    find: "...(row.steps !== undefined && { steps: null }),",
    replace: "",
    why: "each attempt runs every step again",
    test: { file: STORY, name: "comes with the next attempt, and with the one after that" },
  },
  {
    name: "the first record does not mark its row",
    file: `${SERVER}/engine/attempts/steps.ts`,
    find: "giveOwnRow(step, found.entry, true);",
    replace: "",
    why: "the next owner of the shard does not know that there are records",
    test: { file: STORY, name: "is written and acknowledged in one commit, which gives the execution its own row" },
  },
  {
    name: "the last record of a step counts",
    file: `${SERVER}/domain/step.ts`,
    find: 'if (known.kind !== "CHECKPOINT") return false;',
    replace: "",
    why: "a handler got a value that later attempts do not get",
    test: { file: STORY, name: "counts as the first of its name, or as the newest checkpoint, also within one commit" },
  },
  {
    name: "a worker that does not know steps gets later attempts",
    file: `${SERVER}/gateway/sessions/session.ts`,
    find: "if (!this.takesSteps && hasRecords(recorded)) return failUnsupported(this, assignment, this.#context);",
    replace: "",
    why: "an older SDK runs steps again that are durable",
    test: {
      file: `${SERVER}/gateway/sessions/steps.test.ts`,
      name: "fail an attempt whose worker would repeat the steps, because its SDK does not know them",
    },
  },
  {
    name: "results overtake records",
    file: `${SERVER}/gateway/owner-reports.ts`,
    find: "if (this.#steps.size > 0) {",
    replace: "if (this.#steps.size > 0 && this.#finished.size === 0) {",
    why: "the owner refuses the records of an attempt whose result came first",
    test: {
      file: `${SERVER}/gateway/sessions/steps.test.ts`,
      name: "goes to the owner before the result of its attempt",
    },
  },
];
