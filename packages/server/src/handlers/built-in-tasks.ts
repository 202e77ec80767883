import type { Task } from "@mainspring/sdk";
import type { Runtime } from "../ports/runtime.ts";
import { echo } from "./echo.ts";
import { sleepTask } from "./sleep.ts";

/** The handlers that every server brings, and that `mainspring worker` offers too. */
export function builtInTasks(runtime: Runtime): Task[] {
  return [echo, sleepTask(runtime)];
}
