import { backlog } from "./backlog.ts";
import { bus } from "./bus.ts";
import { cluster } from "./cluster.ts";
import { crash } from "./crash.ts";
import { cycle } from "./cycle.ts";
import { drain, events } from "./drain.ts";
import { embedded } from "./embedded.ts";
import { fair } from "./fair.ts";
import { fleet } from "./fleet.ts";
import { flows } from "./flows.ts";
import { followers } from "./followers.ts";
import { idle } from "./idle.ts";
import { midnight } from "./midnight.ts";
import { payload } from "./payload.ts";
import { pickup } from "./pickup.ts";
import { profiles } from "./profiles.ts";
import { recurringBurst, recurringRest } from "./recurring.ts";
import type { Scenario } from "./scenario.ts";
import { snapshot } from "./snapshot.ts";
import { steps } from "./steps.ts";
import { storage } from "./storage.ts";
import { stuck } from "./stuck.ts";
import { submit } from "./submit.ts";
import { timers } from "./timers.ts";
import { urgent } from "./urgent.ts";
import { window } from "./window.ts";

/** All measurements, in the order of the report. */
export const SCENARIOS: readonly Scenario[] = [
  drain,
  cycle,
  submit,
  pickup,
  timers,
  midnight,
  urgent,
  fair,
  backlog,
  snapshot,
  payload,
  steps,
  flows,
  stuck,
  crash,
  fleet,
  idle,
  followers,
  embedded,
  cluster,
  bus,
  events,
  profiles,
  window,
  recurringRest,
  recurringBurst,
  storage,
];
