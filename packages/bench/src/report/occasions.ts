import type { CaseResult, Occasion, Outcome } from "../measured.ts";
import { contenderOf } from "./words.ts";

/** Range of times, and commits, of the measurements. */
export function whenMeasured(results: readonly CaseResult[]): string {
  const all = results.flatMap(({ outcomes }) => outcomes.flatMap(({ occasions }) => occasions));
  const times = all.map(({ at }) => at).sort();
  const [first = "", last = ""] = [times[0], times.at(-1)];
  const commits = [...new Set(all.map(({ commit }) => commit))];
  const of = commits.length === 1 ? `commit ${commits[0]}` : `several commits (${commits.join(", ")})`;
  return `Cases began between ${instant(first)} and ${instant(last)} UTC, of ${of}. Below each case you find when it was measured, and the load of the machine. If other programs took much of the CPU, only the CPU per job is meaningful.`;
}

/** Times of a case's measurement; by contender if they were not all measured together. */
export function occasionsOf(outcomes: readonly Outcome[]): string {
  const measured = outcomes.filter(({ unsupported }) => unsupported === undefined);
  const groups = Map.groupBy(measured, ({ occasions }) => occasions.map(wordsOf).join("; and "));
  if (groups.size === 1) return `Measured ${timesOf(measured)}, ${[...groups.keys()][0]}.`;
  const lines = [...groups].map(
    ([when, group]) =>
      `- ${group.map(({ contender }) => contenderOf(contender).title).join("; ")}: ${timesOf(group)}, ${when}`,
  );
  return ["Contenders were measured at several times:", "", ...lines].join("\n");
}

function timesOf(outcomes: readonly Outcome[]): string {
  const counts = outcomes.map(({ occasions }) => occasions.flatMap(({ runs }) => runs).length);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (most === 1) return "once";
  return least === most ? `${most} times` : `${least} to ${most} times`;
}

function wordsOf({ at, commit, load, othersPercent }: Occasion): string {
  const others = othersPercent === null ? "" : `, others took ${othersPercent.toFixed(0)} % of the CPU`;
  return `at ${instant(at)} UTC of ${commit}: load average before ${load.toFixed(1)}${others}`;
}

function instant(at: string): string {
  return at.slice(0, 16).replace("T", " ");
}
