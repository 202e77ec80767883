import type { Contender } from "../contenders/contender.ts";
import type { Figures } from "../figures.ts";
import type { Stage } from "../services/stage.ts";

/** How much of everything. */
export interface Scale {
  isQuick: boolean;
  /** How many jobs wait for tomorrow in `backlog`. */
  backlogJobs: number;
}

/** One thing to measure. */
export interface Case {
  /** Unique among all. */
  name: string;
  /** For people. */
  title: string;
  /** Default: all that were asked for. */
  contenders?: readonly Contender[];
  /** Whether the other settings of peers are of interest too. */
  hasVariants?: boolean;
  takes?(contender: Contender): boolean;
  /** How often it is run at most. */
  runsMax?: number;
  /** @returns the figures of one run, or of several parts of it that count as one each */
  measure(contender: Contender, stage: Stage): Promise<Figures | Figures[]>;
}

export interface Scenario {
  name: string;
  /** Title of the measurement, for people. */
  about: string;
  /** Measured only where it is named. */
  isOnRequest?: boolean;
  cases(scale: Scale): Case[];
}
