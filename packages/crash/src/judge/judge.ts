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
  kafkaCarriedTheBus,
  nobodyDiesUnasked,
  outagesAreTold,
  theLivingAreKept,
  zombiesCameBack,
} from "./rules/faults.ts";
import { concurrencyIsLimited, duplicatesShareTheKey, poolIsLimited, uniqueKeysAreUnique } from "./rules/limits.ts";
import {
  endedRunsAreComplete,
  endedRunsStartNothing,
  nodesAreOneExecution,
  nodesFollowTheirParents,
  runsAgreeWithHandlers,
} from "./rules/nodes.ts";
import { cancellationsHold, nothingIsEarly, onlyTheExpiredIsSkipped, outcomesAreAsExpected } from "./rules/outcomes.ts";
import { pausedRunsStartNothing, pausesHappened } from "./rules/pauses.ts";
import { recordsAreDecided, recordsMakeOneJob, recordsMetFaults, refusalsAreTold } from "./rules/records.ts";
import {
  fireInstantsAreAccountedFor,
  firesAreInTime,
  firesAreNotEarly,
  pausedJobsRest,
  skipsHaveReasons,
} from "./rules/recurring.ts";
import { outputsAreTrue, referencesAreTrue } from "./rules/references.ts";
import { replicaIsComplete } from "./rules/replica.ts";
import {
  requestsAreDecided,
  requestsMakeOneJob,
  requestsMetFaults,
  rolledBackRequestsAreGone,
} from "./rules/requests.ts";
import { finalStatesAbsorb, onlySuccessHasResult, payloadsAreIntact, resultsAreCurrent } from "./rules/results.ts";
import { retriesHappened, retriesKeepWhatSucceeded } from "./rules/retries.ts";
import type { Rule } from "./rules/rule.ts";
import {
  signalsAreAcceptedOnce,
  signalsAreConsumedOnce,
  signalsComeAtAllTimes,
  signalsInTimeCount,
} from "./rules/signals.ts";
import {
  checkpointsNeverGoBack,
  recordedStepsAreKept,
  resultsHoldTheSteps,
  sleepsAreNotShort,
  stepsHaveOneResult,
  stepsOutliveTheirWorker,
  stepsRepeatOnlyLosses,
} from "./rules/steps.ts";
import {
  acceptedRunsEnd,
  runsOutliveTheServer,
  uniqueRunsAreAlone,
  workflowsTakeEffectOnce,
} from "./rules/workflows.ts";

/** Rules that hold under every fault. */
const ALWAYS = {
  acceptedJobsExist,
  everythingIsFinal,
  ordersTakeEffectOnce,
  requestsAreDecided,
  requestsMakeOneJob,
  rolledBackRequestsAreGone,
  recordsAreDecided,
  recordsMakeOneJob,
  refusalsAreTold,
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
  recordedStepsAreKept,
  stepsRepeatOnlyLosses,
  stepsHaveOneResult,
  resultsHoldTheSteps,
  checkpointsNeverGoBack,
  sleepsAreNotShort,
  signalsAreConsumedOnce,
  signalsAreAcceptedOnce,
  signalsInTimeCount,
  workflowsTakeEffectOnce,
  acceptedRunsEnd,
  uniqueRunsAreAlone,
  nodesFollowTheirParents,
  nodesAreOneExecution,
  endedRunsAreComplete,
  endedRunsStartNothing,
  runsAgreeWithHandlers,
  referencesAreTrue,
  outputsAreTrue,
  retriesKeepWhatSucceeded,
  pausedRunsStartNothing,
  faultsHappened,
  nobodyDiesUnasked,
};
/** Rules for runs in which stopped workers resume, and the pool has its limit. */
const OF_CUSTOMERS = {
  poolIsLimited,
  zombiesCameBack,
  attemptsOutliveTheServer,
  stepsOutliveTheirWorker,
  signalsComeAtAllTimes,
  runsOutliveTheServer,
  retriesHappened,
  pausesHappened,
  requestsMetFaults,
};
/** Rules of each kind of run. */
export const RULES = {
  /** Run with faults in the processes of one server. */
  crash: { ...ALWAYS, ...OF_CUSTOMERS, theLivingAreKept },
  /** Run with faults in a whole cluster, where a worker that no gateway can reach is rightly lost. */
  chaos: {
    ...ALWAYS,
    ...OF_CUSTOMERS,
    outagesAreTold,
    attemptsOutliveTheStore,
    kafkaCarriedTheBus,
    recordsMetFaults,
    replicaIsComplete,
  },
  /** Long run without faults. */
  soak: { ...ALWAYS, poolIsLimited },
  /** Run with faults in one node of a cluster after the other, and in nothing else. */
  drill: { ...ALWAYS, everythingRunsOnce, outagesAreTold },
  /** Run with a PostgreSQL that loses its last commits: everything that it has must end, and the losses are counted. */
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

/** Judges a run by the records of its clients, workers and faults, and by the server's final answers. */
export function judge(evidence: Evidence, rules: Rules): Verdict {
  const opened = openCase(evidence);
  const violations = Object.entries(RULES[rules]).flatMap(([rule, check]) =>
    check(opened).map((what) => ({ rule: rule as RuleName, what })),
  );
  return { violations, figures: figuresOf(opened) };
}
