import type { DstPolicy } from "../schedule.ts";
import { matchesWall, secondsOf } from "./match.ts";
import type { WalkedMinute } from "./walk.ts";

/**
 * Computes fires without regard to speed, and shares no code with the tested module: it compares every minute of a walk
 * with every field, as text. Results within a day of the walk's ends are not reliable.
 * @returns all instants at which the expression fires, in order
 */
export function oracleFires(cron: string, dst: DstPolicy, walked: readonly WalkedMinute[]): number[] {
  const seconds = secondsOf(cron);
  const minutes = isFixedTime(cron) ? fixedMinutes(cron, dst, walked) : elapsedMinutes(cron, walked);
  const fires = minutes.flatMap((at) => seconds.map((second) => at + second * 1_000));
  const afterGaps = isFixedTime(cron) && dst.gap === "SHIFT" ? madeUp(cron, walked) : [];
  return [...new Set([...fires, ...afterGaps])].sort((one, other) => one - other);
}

function isFixedTime(cron: string): boolean {
  const [minute = "", hour = ""] = cron.split(" ").slice(-5);
  return ![...minute, ...hour].some((character) => character === "*" || character === "/");
}

function elapsedMinutes(cron: string, walked: readonly WalkedMinute[]): number[] {
  return walked.filter(({ wall }) => matchesWall(cron, wall)).map(({ at }) => at);
}

function fixedMinutes(cron: string, { fold }: DstPolicy, walked: readonly WalkedMinute[]): number[] {
  const shown = new Map<number, number[]>();
  for (const { at, wall } of walked) {
    const instants = shown.get(wall);
    if (instants === undefined) shown.set(wall, [at]);
    else instants.push(at);
  }
  return [...shown]
    .filter(([wall]) => matchesWall(cron, wall))
    .flatMap(([, instants]) => {
      if (fold === "BOTH") return instants;
      return fold === "FIRST" ? instants.slice(0, 1) : instants.slice(-1);
    });
}

/** First instants after gaps that contain a planned time. */
function madeUp(cron: string, walked: readonly WalkedMinute[]): number[] {
  const shown = new Set(walked.map(({ wall }) => wall));
  const fires: number[] = [];
  for (const [index, { at, wall }] of walked.entries()) {
    const before = walked[index - 1];
    for (let lost = before === undefined ? wall : before.wall + 1; lost < wall; lost++) {
      if (!shown.has(lost) && matchesWall(cron, lost)) fires.push(at);
    }
  }
  return fires;
}
