import type { DstPolicy } from "../schedule.ts";
import { matchesWall, secondsOf } from "./match.ts";
import type { WalkedMinute } from "./walk.ts";

/**
 * Judges schedules without a thought of speed, and shares no code with what it judges: every minute of a walk is
 * compared with every field, as text. What lies within a day of the walk's ends is not judged well.
 * @returns all instants at which the expression fires, in order
 */
export function oracleFires(cron: string, dst: DstPolicy, walked: readonly WalkedMinute[]): number[] {
  const fires = isFixedTime(cron) ? fixedFires(cron, dst, walked) : elapsedFires(cron, walked);
  return [...new Set(fires)].sort((one, other) => one - other);
}

function isFixedTime(cron: string): boolean {
  const [minute = "", hour = ""] = cron.split(" ").slice(-5);
  return ![...minute, ...hour].some((character) => character === "*" || character === "/");
}

function elapsedFires(cron: string, walked: readonly WalkedMinute[]): number[] {
  return walked.filter(({ wall }) => matchesWall(cron, wall)).flatMap(({ at }) => fullSeconds(cron, at));
}

function fixedFires(cron: string, dst: DstPolicy, walked: readonly WalkedMinute[]): number[] {
  const shown = new Map<number, number[]>();
  for (const { at, wall } of walked) shown.set(wall, [...(shown.get(wall) ?? []), at]);
  const fires: number[] = [];
  for (const [wall, instants] of shown) {
    if (matchesWall(cron, wall)) fires.push(...chosen(instants, dst).flatMap((at) => fullSeconds(cron, at)));
  }
  return dst.gap === "SKIP" ? fires : [...fires, ...madeUp(cron, walked, shown)];
}

function chosen(instants: readonly number[], { fold }: DstPolicy): readonly number[] {
  if (fold === "BOTH") return instants;
  return fold === "FIRST" ? instants.slice(0, 1) : instants.slice(-1);
}

/** The first instants after gaps that hold a planned time. */
function madeUp(cron: string, walked: readonly WalkedMinute[], shown: ReadonlyMap<number, unknown>): number[] {
  const fires: number[] = [];
  for (const [index, { at, wall }] of walked.entries()) {
    const before = walked[index - 1];
    for (let lost = before === undefined ? wall : before.wall + 1; lost < wall; lost++) {
      if (!shown.has(lost) && matchesWall(cron, lost)) fires.push(at);
    }
  }
  return fires;
}

function fullSeconds(cron: string, at: number): number[] {
  return secondsOf(cron).map((second) => at + second * 1_000);
}
