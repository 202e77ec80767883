import { backlog } from "./backlog.ts";
import { cluster } from "./cluster.ts";
import { crash } from "./crash.ts";
import { cycle } from "./cycle.ts";
import { drain } from "./drain.ts";
import { embedded } from "./embedded.ts";
import { fleet } from "./fleet.ts";
import { idle } from "./idle.ts";
import { pickup } from "./pickup.ts";
import { recurringHerd, recurringRest } from "./recurring.ts";
import type { Scenario } from "./scenario.ts";
import { stuck } from "./stuck.ts";
import { submit } from "./submit.ts";
import { timers } from "./timers.ts";

/** All that is measured, in the order of the report. */
export const SCENARIOS: readonly Scenario[] = [
  drain,
  cycle,
  submit,
  pickup,
  timers,
  backlog,
  stuck,
  crash,
  fleet,
  idle,
  embedded,
  cluster,
  recurringRest,
  recurringHerd,
];
