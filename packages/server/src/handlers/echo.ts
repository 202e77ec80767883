import { type Task, task } from "@mainspring/sdk";

/** Returns its payload: the first thing to try, and a job that costs nothing but its way. */
export const echo: Task<unknown, unknown> = task({ name: "echo", run: (payload: unknown) => payload ?? null });
