import type { Mutant } from "./mutant.ts";

const CHANGEOVERS = "packages/server/src/engine/recurring/changeovers.ts";
const MOVED = "packages/server/src/domain/schedule/moved.ts";

/** Mutants in how recurring jobs follow changes of the time zone data. */
export const ruleMutants: readonly Mutant[] = [
  {
    name: "newer rules plan from their own moment",
    file: MOVED,
    find: "nextFire(schedule, last.at < since ? Math.max(last.at, planned) : planned, fired)",
    replace: "nextFire(schedule, since, fired)",
    why: "an instant that newer rules have before their moment is lost, and a time on the wall fires twice",
    tzChanges: true,
  },
  {
    name: "a time on the wall is planned again",
    file: MOVED,
    find: "const planned = sameWall(schedule, last.version, last.at);",
    replace: "const planned = last.at;",
    why: "newer rules that have nine o'clock an hour later fire it a second time",
    tzChanges: true,
  },
  {
    name: "what has passed goes by the newer rules",
    file: CHANGEOVERS,
    find: 'if (plan.state === "ACTIVE" && !accountDue(draft, Math.min(next.since, now + 1))) return false;',
    replace: "",
    why: "an instant that was planned before the changeover and has not been fired yet is moved or lost",
    tzChanges: true,
  },
  {
    name: "a paused plan follows at once",
    file: CHANGEOVERS,
    find: "if (isWaiting) return true;",
    replace: "",
    why: "what fell into a pause is judged by rules that came after it",
    tzChanges: true,
  },
];
