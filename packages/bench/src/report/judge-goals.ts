import { CONTENDERS } from "../contenders/contenders.ts";
import { FIGURES, type FigureName } from "../figures.ts";
import type { CaseResult } from "../measured.ts";
import { GOALS, type Goal } from "./goals.ts";

/** Comparison of a goal with the measurement. */
export interface Verdict {
  goal: Goal;
  title: string;
  measured: number;
  /** Best figure of the peers in this run; null: none was measured. */
  bestPeer: number | null;
  /**
   * Whether the figure reaches the goal or, because machines differ, the ratio to the best peer of the same run does.
   */
  reached: "yes" | "against the peers" | "no";
}

/** Verdicts for the goals whose case was measured. */
export function judgeGoals(results: readonly CaseResult[]): Verdict[] {
  return GOALS.flatMap((goal) => {
    const result = results.find(
      ({ name }) => name === goal.case || (goal.case.endsWith("-") && name.startsWith(goal.case)),
    );
    const measured = result?.outcomes.find(({ contender }) => contender === goal.contender)?.spreads[goal.figure]
      ?.median;
    if (result === undefined || measured === undefined) return [];
    const bestPeer = bestPeerOf(result, goal.figure);
    return [{ goal, title: result.title, measured, bestPeer, reached: reachedOf(goal, measured, bestPeer) }];
  });
}

function reachedOf({ goal, figure, bestPeer: bestThen }: Goal, measured: number, bestPeer: number | null) {
  if (isAsGood(figure, measured, goal)) return "yes";
  if (bestThen === undefined || bestPeer === null) return "no";
  return isAsGood(figure, measured / bestPeer, goal / bestThen) ? "against the peers" : "no";
}

function bestPeerOf({ outcomes }: CaseResult, figure: FigureName): number | null {
  const peers = new Set(CONTENDERS.filter(({ isPeer }) => isPeer).map(({ name }) => name));
  const values = outcomes
    .flatMap(({ contender, spreads }) => (peers.has(contender) ? [spreads[figure]?.median ?? []] : []))
    .flat();
  if (values.length === 0) return null;
  return FIGURES[figure].better === "more" ? Math.max(...values) : Math.min(...values);
}

function isAsGood(figure: FigureName, value: number, goal: number): boolean {
  return FIGURES[figure].better === "more" ? value >= goal : value <= goal;
}
