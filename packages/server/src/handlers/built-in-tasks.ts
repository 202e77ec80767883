import type { Task } from "@mainspring/sdk";
import type { Runtime } from "../ports/runtime.ts";
import { echo } from "./echo.ts";
import { execTask } from "./exec/exec-task.ts";
import { httpTask } from "./http/http-task.ts";
import { sleepTask } from "./sleep.ts";

/** Configuration of the built-in handlers. */
export interface HandlerSettings {
  /** CIDRs outside the public internet that `http` may reach. */
  httpAllowPrivate: readonly string[];
  /** Secret with which `http` signs requests: `whsec_` and base64; null: no signature. */
  webhookSecret: string | null;
  /**
   * Whether `exec` is offered. With it, every client that may submit jobs can run programs as the user of this process.
   */
  exec: boolean;
}

/** Handlers that every server offers, and `mainspring worker` too. */
export function builtInTasks(runtime: Runtime, settings: HandlerSettings): Task[] {
  const { httpAllowPrivate: allowPrivate, webhookSecret, exec } = settings;
  const http = httpTask({ runtime, allowPrivate, webhookSecret });
  return [echo, sleepTask(runtime), http, ...(exec ? [execTask(runtime)] : [])];
}
