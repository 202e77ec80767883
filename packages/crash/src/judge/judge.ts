import { openCase } from "./case.ts";
import type { Evidence } from "./evidence.ts";
import { figuresOf } from "./figures.ts";
import { acceptedJobsExist, everythingIsFinal, ordersTakeEffectOnce } from "./rules/accepted-jobs.ts";
import {
  attemptsDoNotOverlap,
  attemptsGrow,
  budgetsHold,
  endsAreReal,
  runsAreAccountedFor,
  tokensAreUsedOnce,
} from "./rules/attempts.ts";
import {
  attemptsOutliveTheServer,
  faultsHappened,
  nobodyDiesUnasked,
  theLivingAreKept,
  zombiesCameBack,
} from "./rules/faults.ts";
import { concurrencyIsLimited, duplicatesShareTheKey, poolIsLimited, uniqueKeysAreUnique } from "./rules/limits.ts";
import { cancellationsHold, nothingIsEarly, onlyTheExpiredIsSkipped, outcomesAreAsExpected } from "./rules/outcomes.ts";
import { finalStatesAbsorb, onlySuccessHasResult, payloadsAreIntact, resultsAreCurrent } from "./rules/results.ts";

const RULES = {
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
  poolIsLimited,
  uniqueKeysAreUnique,
  duplicatesShareTheKey,
  faultsHappened,
  zombiesCameBack,
  attemptsOutliveTheServer,
  theLivingAreKept,
  nobodyDiesUnasked,
};
export type RuleName = keyof typeof RULES;

export interface Violation {
  rule: RuleName;
  what: string;
}

export interface Verdict {
  violations: Violation[];
  figures: Record<string, number>;
}

/** Judges a run by what its clients, its workers and its faults wrote down and by what the server tells in the end. */
export function judge(evidence: Evidence): Verdict {
  const opened = openCase(evidence);
  const violations = Object.entries(RULES).flatMap(([rule, check]) =>
    check(opened).map((what) => ({ rule: rule as RuleName, what })),
  );
  return { violations, figures: figuresOf(opened) };
}
