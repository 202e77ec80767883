import type { EpochMs } from "../ids.ts";
import { type CronClock, makesUp, nextCronFire, nextInGap } from "./cron/cron-fires.ts";
import { wallText } from "./wall-text.ts";
import { nextWall, type WallSec } from "./wall-times.ts";
import type { Stretch } from "./zones/time-zone.ts";

/** Largest number of times in one gap that is counted; there may be 86,400. */
const COUNTED_MAX = 100;

/**
 * Effect of a clock change on a fire, or between it and the fire before; null: none. The text begins with `moved`,
 * `merged`, `dropped` or `doubled`.
 * @param previous the fire before, or the start of the preview
 */
export function clockNote(clock: CronClock, previous: EpochMs, fire: EpochMs): string | null {
  const stretch = clock.zone.stretchAt(fire / 1_000);
  const notes = [leftOutBefore(clock, previous, fire), gapNote(clock, stretch, fire), foldNote(clock, stretch, fire)];
  const told = notes.filter((note) => note !== null);
  return told.length === 0 ? null : told.join("; ");
}

/**
 * Note about fires between the two that a gap removed, because the rules of this schedule do not shift them; null:
 * none.
 */
function leftOutBefore(clock: CronClock, previous: EpochMs, fire: EpochMs): string | null {
  if (makesUp(clock)) return null;
  const fold = clock.plan.fixedTime ? clock.dst.fold : "BOTH";
  const made = { ...clock, plan: { ...clock.plan, fixedTime: true }, dst: { gap: "SHIFT", fold } } as const;
  const missed = nextCronFire(made, previous);
  if (missed === null || missed >= fire) return null;
  return dropped(clock, clock.zone.stretchAt(missed / 1_000));
}

/** Note about a fire at the first instant after a gap; null: the fire is not there. */
function gapNote(clock: CronClock, stretch: Stretch, fire: EpochMs): string | null {
  if (fire !== stretch.start * 1_000) return null;
  const lost = lostIn(clock, stretch);
  if (lost === null) return null;
  if (!makesUp(clock)) return dropped(clock, stretch);
  const wall = stretch.start + stretch.offsetSec;
  const isPlanned = nextWall(clock.plan, wall, wall + 1) !== null;
  if (lost.count === 1 && !isPlanned) return `moved: ${lostText(lost)}, ${clocksGo(stretch)}`;
  const planned = isPlanned ? ` and ${wallText(wall)} is planned as well` : "";
  return `moved, merged: ${lostText(lost)}${planned}, which is one fire; ${clocksGo(stretch)}`;
}

function dropped(clock: CronClock, stretch: Stretch): string | null {
  const lost = lostIn(clock, stretch);
  return lost === null ? null : `dropped: ${lostText(lost)}, ${clocksGo(stretch)}`;
}

/** Planned local times within a gap. */
interface Lost {
  first: WallSec;
  /** Number of the times; COUNTED_MAX also stands for more. */
  count: number;
}

function lostText({ first, count }: Lost): string {
  if (count === 1) return `${wallText(first)} does not exist`;
  return `${wallText(first)} and ${count < COUNTED_MAX ? count - 1 : `at least ${COUNTED_MAX - 1}`} more do not exist`;
}

function lostIn({ plan }: CronClock, stretch: Stretch): Lost | null {
  const first = nextInGap(plan, stretch);
  if (first === null) return null;
  let count = 0;
  for (let wall: WallSec | null = first; wall !== null && count < COUNTED_MAX; count++) {
    wall = nextInGap(plan, stretch, wall + 1);
  }
  return { first, count };
}

function clocksGo({ start, offsetSec, offsetBeforeSec }: Stretch): string {
  return `the clocks go from ${wallText(start + offsetBeforeSec)} to ${wallText(start + offsetSec)}`;
}

/** Note about a fire whose local time occurs twice; null: the local time occurs once. */
function foldNote({ plan, dst }: CronClock, stretch: Stretch, fire: EpochMs): string | null {
  const wall = fire / 1_000 + stretch.offsetSec;
  const isSecond = wall < stretch.start + stretch.offsetBeforeSec;
  const isFirst = wall >= stretch.end + stretch.offsetAfterSec;
  if (!isFirst && !isSecond) return null;
  const [which, other] = isSecond ? ["second", "first"] : ["first", "second"];
  const both = !plan.fixedTime || dst.fold === "BOTH";
  if (both) return `doubled: ${wallText(wall)} comes twice, this is the ${which} time`;
  return `dropped: ${wallText(wall)} comes twice, this is the ${which} time and the ${other} is left out`;
}
