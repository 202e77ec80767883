import { median } from "../median.ts";
import type { Sample } from "./samples.ts";

/** Smallest number of samples that show a trend. */
const SAMPLES_MIN = 8;
/** Allowance besides the share, in MiB, because heaps and tables grow in steps. */
const STEP_MIB = 48;

interface Trend {
  rule: string;
  of: (sample: Sample) => number;
  /** Largest ratio of the last quarter to the second one. */
  share: number;
  slack: number;
}

/** Figures that must be as large at the end as after the warm-up. */
const TRENDS: readonly Trend[] = [
  { rule: "memoryIsFlat", of: ({ nodeMib }) => nodeMib, share: 1.2, slack: STEP_MIB },
  { rule: "otherTablesAreFlat", of: ({ otherMib }) => otherMib, share: 1.2, slack: STEP_MIB },
  {
    rule: "executionsKeepTheirSize",
    of: ({ historyMib, executions }) => (1_024 * historyMib) / Math.max(1, executions),
    share: 1.2,
    slack: 0.2,
  },
];

/**
 * Figures that grew although they must not. The first quarter does not count, because pools, caches and compiled code
 * fill then.
 */
export function growths(samples: readonly Sample[]): { rule: string; what: string }[] {
  if (samples.length < SAMPLES_MIN) return [];
  const quarter = Math.floor(samples.length / 4);
  return TRENDS.flatMap(({ rule, of, share, slack }) => {
    const early = median(samples.slice(quarter, 2 * quarter).map(of));
    const late = median(samples.slice(-quarter).map(of));
    if (late <= share * early + slack) return [];
    return [{ rule, what: `grew from ${early.toFixed(1)} in the second quarter to ${late.toFixed(1)} in the last` }];
  });
}
