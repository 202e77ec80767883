import type { Mutant } from "./mutant.ts";

const PLANS = "packages/server/src/engine/recurring";

/** Mutants in planning, firing and accounting for recurring jobs. */
export const planMutants: readonly Mutant[] = [
  {
    name: "no version check",
    file: `${PLANS}/replan.ts`,
    find: "ruleOfVersion(draft, draft.plan.version, commands)",
    replace: "ruleOfVersion(draft, draft.facts.version, commands)",
    why: "a fire that was planned by an older version counts as one of the newest",
  },
  {
    name: "ids without their instant",
    file: "packages/server/src/domain/occurrence-id.ts",
    find: "  const a = fnv1a(text, 0x811c9dc5);\n",
    replace:
      "  if (text.length > 0) return `${hex(timeMs - (timeMs % 900_000), 12).replace(/^.{8}/, '$&-')}-7000-8000-${jobId.slice(24)}`;\n  const a = 0;\n",
    why: "two instants of a job become one execution",
  },
  {
    name: "overlap does not count",
    file: `${PLANS}/draft.ts`,
    find: 'if (overlap === "ALLOW" || !this.isBusy)',
    replace: 'if (overlap === "ALLOW" || this.isBusy || !this.isBusy)',
    why: "executions of a job run at once that must not",
  },
  {
    name: "pause does not stop",
    file: `${PLANS}/apply-plan-command.ts`,
    find: '  draft.plan.state = "PAUSED";\n',
    replace: "",
    why: "a client hears that a job is paused, and it fires on",
  },
  {
    name: "plans without compare-and-set",
    file: "packages/server/src/adapters/simulated/rows/commit-plans.ts",
    find: "if (before === undefined || before.revision !== change.wasRevision) {",
    replace: "if (before === undefined) {",
    why: "a fire that is on its way when its job is deleted is written all the same",
    test: {
      file: "packages/server/src/adapters/simulated/sim-store.test.ts",
      name: "lets a fire that is on its way miss the deleted job, or else tells of what it made",
    },
  },
  {
    name: "no misfire grace",
    file: `${PLANS}/due.ts`,
    find: "now - draft.rule.misfireGraceMs",
    replace: "now",
    why: "what is a second late is taken for missed",
  },
  {
    name: "`>=` for `>` at the last fire",
    file: `${PLANS}/due.ts`,
    find: "occurrences(draft.schedule, first + 1, until,",
    replace: "occurrences(draft.schedule, first, until,",
    why: "what follows an instant that was missed is that instant once more",
    test: {
      file: "packages/server/src/engine/recurring/advance.test.ts",
      name: "fires the newest of what it missed, once",
    },
  },
];
