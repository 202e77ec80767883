import type { Mutant } from "./mutant.ts";

const PLANS = "packages/server/src/shard/plans";

/** In how recurring jobs are planned, fired and accounted for. */
export const planMutants: readonly Mutant[] = [
  {
    name: "no version check",
    file: `${PLANS}/anew.ts`,
    find: "ruleOfVersion(draft, draft.plan.version, orders)",
    replace: "ruleOfVersion(draft, draft.facts.version, orders)",
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
];
