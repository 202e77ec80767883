import type { Contender } from "../contenders/contender.ts";
import type { Figures } from "../figures.ts";
import type { Stage } from "../services/stage.ts";

/** Sizes of all measurements. */
export interface Scale {
  isQuick: boolean;
  /** Number of jobs that wait for tomorrow in `backlog`. */
  backlogJobs: number;
  /** Number of jobs that are due at one instant in `midnight` and `fair`, and of those that wait in `fair`. */
  herdJobs: number;
  /** Number of tenants in `fair`. */
  tenants: number;
  /** Number of executions that sleep in `steps`. */
  sleepers: number;
  /** Jobs a second in `profiles`. */
  perSec: number;
  /** Numbers of jobs at which `storage` measures the store, in ascending order. */
  storedJobs: readonly [number, number];
}

/** One measurement. */
export interface Case {
  /** Unique name of the case. */
  name: string;
  /** Title for people. */
  title: string;
  /** Contenders of the case; default: all requested ones. */
  contenders?: readonly Contender[];
  /** Whether other settings of peers take part. */
  hasVariants?: boolean;
  takes?(contender: Contender): boolean;
  /** Reason why a contender that takes part cannot run the case; null: it can. */
  unsupported?(contender: Contender): string | null;
  /** Folder of the sources that an earlier commit must have to be compared in this case; absent: any commit can. */
  needs?: string;
  /** Largest number of runs. */
  runsMax?: number;
  /** @returns figures of one run, or of several parts of it that each count as one */
  measure(contender: Contender, stage: Stage): Promise<Figures | Figures[]>;
}

export interface Scenario {
  name: string;
  /** Title of the measurement, for people. */
  about: string;
  /** Whether it is measured only if it is named. */
  isOnRequest?: boolean;
  cases(scale: Scale): Case[];
}
