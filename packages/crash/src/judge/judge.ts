import { openCase } from "./case.ts";
import type { Evidence } from "./evidence.ts";
import { figuresOf } from "./figures.ts";
import { acceptedJobsExist, everythingIsFinal, ordersTakeEffectOnce } from "./rules/accepted-jobs.ts";
import {
  attemptsDoNotOverlap,
  attemptsGrow,
  budgetsHold,
  endsAreReal,
  everythingRunsOnce,
  runsAreAccountedFor,
  tokensAreUsedOnce,
} from "./rules/attempts.ts";
import {
  attemptsOutliveTheServer,
  attemptsOutliveTheStore,
  faultsHappened,
  nobodyDiesUnasked,
  outagesAreTold,
  theLivingAreKept,
  zombiesCameBack,
} from "./rules/faults.ts";
import { concurrencyIsLimited, duplicatesShareTheKey, poolIsLimited, uniqueKeysAreUnique } from "./rules/limits.ts";
import { cancellationsHold, nothingIsEarly, onlyTheExpiredIsSkipped, outcomesAreAsExpected } from "./rules/outcomes.ts";
import {
  fireInstantsAreAccountedFor,
  firesAreInTime,
  firesAreNotEarly,
  pausedJobsRest,
  skipsHaveReasons,
} from "./rules/recurring.ts";
import { finalStatesAbsorb, onlySuccessHasResult, payloadsAreIntact, resultsAreCurrent } from "./rules/results.ts";
import type { Rule } from "./rules/rule.ts";

/** Rules that hold under every fault. */
const ALWAYS = {
  acceptedJobsExist,
  everythingIsFinal,
  ordersTakeEffectOnce,
  resultsAreCurrent,
  onlySuccessHasResult,
  payloadsAreIntact,
  finalStatesAbsorb,
  attemptsGrow,
  runsAreAccountedFor,
  tokensAreUsedOnce,
  endsAreReal,
  attemptsDoNotOverlap,
  budgetsHold,
  outcomesAreAsExpected,
  onlyTheExpiredIsSkipped,
  cancellationsHold,
  nothingIsEarly,
  concurrencyIsLimited,
  uniqueKeysAreUnique,
  duplicatesShareTheKey,
  fireInstantsAreAccountedFor,
  firesAreNotEarly,
  firesAreInTime,
  skipsHaveReasons,
  pausedJobsRest,
  faultsHappened,
  nobodyDiesUnasked,
};
/** Where stopped workers come back, and the pool has its limit. */
const OF_CUSTOMERS = { poolIsLimited, zombiesCameBack, attemptsOutliveTheServer };
/** Rules of each kind of run. */
export const RULES = {
  /** The processes of one server. */
  crash: { ...ALWAYS, ...OF_CUSTOMERS, theLivingAreKept },
  /** All of a cluster; a worker that nobody can reach is lost, and rightly so. */
  chaos: { ...ALWAYS, ...OF_CUSTOMERS, outagesAreTold, attemptsOutliveTheStore },
  /** Nothing at all, for a long time. */
  soak: { ...ALWAYS, poolIsLimited },
  /** One node of a cluster after the other, and nobody else. */
  drill: { ...ALWAYS, everythingRunsOnce, outagesAreTold },
  /** A PostgreSQL that loses its last commits: what it has must end, what it lost is counted. */
  lossy: {
    everythingIsFinal,
    finalStatesAbsorb,
    attemptsGrow,
    budgetsHold,
    nothingIsEarly,
    faultsHappened,
    nobodyDiesUnasked,
  },
} satisfies Record<string, Record<string, Rule>>;
export type Rules = keyof typeof RULES;
export type RuleName = { [Name in Rules]: keyof (typeof RULES)[Name] }[Rules];

export interface Violation {
  rule: RuleName;
  what: string;
}

export interface Verdict {
  violations: Violation[];
  figures: Record<string, number>;
}

/** Judges a run by what its clients, its workers and its faults wrote down and by what the server tells in the end. */
export function judge(evidence: Evidence, rules: Rules): Verdict {
  const opened = openCase(evidence);
  const violations = Object.entries(RULES[rules]).flatMap(([rule, check]) =>
    check(opened).map((what) => ({ rule: rule as RuleName, what })),
  );
  return { violations, figures: figuresOf(opened) };
}
