import { attemptsDoNotOverlap } from "./attempts-do-not-overlap.ts";
import { budgetsHold } from "./budgets-hold.ts";
import type { Checker } from "./checker.ts";
import { definitionsAreWhole } from "./definitions-are-whole.ts";
import { deletedJobsEnd } from "./deleted-jobs-end.ts";
import { epochsGrow } from "./epochs-grow.ts";
import { finalStatesAbsorb } from "./final-states-absorb.ts";
import { limitsHold } from "./limits-hold.ts";
import { namesArePutOnce } from "./names-are-put-once.ts";
import { nothingIsLost } from "./nothing-is-lost.ts";
import { replayedOnce } from "./replayed-once.ts";
import { resultsAreCurrent } from "./results-are-current.ts";
import { tokensGrow } from "./tokens-grow.ts";

/** New ones of each kind: they remember what they saw. */
export function allCheckers(): Checker[] {
  return [
    attemptsDoNotOverlap(),
    budgetsHold(),
    definitionsAreWhole(),
    deletedJobsEnd(),
    epochsGrow(),
    finalStatesAbsorb(),
    limitsHold(),
    namesArePutOnce(),
    nothingIsLost(),
    replayedOnce(),
    resultsAreCurrent(),
    tokensGrow(),
  ];
}
