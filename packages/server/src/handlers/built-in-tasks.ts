import type { Task } from "@mainspring/sdk";
import type { Runtime } from "../ports/runtime.ts";
import { echo } from "./echo.ts";
import { execTask } from "./exec/exec-task.ts";
import { httpTask } from "./http/http-task.ts";
import { sleepTask } from "./sleep.ts";

/** Configuration of the built-in handlers. */
export interface HandlerSettings {
  /** CIDRs beyond the public internet that `http` may reach. */
  httpAllowPrivate: readonly string[];
  /** `whsec_` and base64: what `http` signs with. */
  webhookSecret: string | null;
  /** Whether `exec` is offered: whoever may submit jobs then runs programs as the user of this process. */
  exec: boolean;
}

/** The handlers that every server brings, and that `mainspring worker` offers too. */
export function builtInTasks(runtime: Runtime, settings: HandlerSettings): Task[] {
  const { httpAllowPrivate: allowPrivate, webhookSecret, exec } = settings;
  const http = httpTask({ runtime, allowPrivate, webhookSecret });
  return [echo, sleepTask(runtime), http, ...(exec ? [execTask(runtime)] : [])];
}
