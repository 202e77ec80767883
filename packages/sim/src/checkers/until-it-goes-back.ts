import type { Checker } from "./checker.ts";

/**
 * Wraps a checker so that it stops judging once the store was restored to an earlier state. After a restore, the
 * checker's records describe a store that no longer exists, and acknowledged work may be lost or run again.
 */
export function untilItGoesBack(checker: Checker): Checker {
  let isOver = false;
  return {
    name: checker.name,
    saw(event) {
      if (event.kind === "WENT_BACK") isOver = true;
      if (!isOver) checker.saw?.(event);
    },
    noticed(event) {
      if (!isOver) checker.noticed?.(event);
    },
    looked(nowMs) {
      if (!isOver) checker.looked?.(nowMs);
    },
    atEnd(history) {
      if (!isOver) checker.atEnd?.(history);
    },
  };
}
