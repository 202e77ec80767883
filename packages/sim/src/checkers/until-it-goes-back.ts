import type { Checker } from "./checker.ts";

/**
 * A checker that judges no more once the store has gone back to an earlier state: what it was told and what it remembers
 * is true of a store that is no more, and what was acknowledged may be lost or run again.
 */
export function untilItGoesBack(checker: Checker): Checker {
  let isOver = false;
  return {
    name: checker.name,
    saw(event) {
      if (event.kind === "WENT_BACK") isOver = true;
      if (!isOver) checker.saw?.(event);
    },
    noticed(moment) {
      if (!isOver) checker.noticed?.(moment);
    },
    looked(nowMs) {
      if (!isOver) checker.looked?.(nowMs);
    },
    atEnd(history) {
      if (!isOver) checker.atEnd?.(history);
    },
  };
}
