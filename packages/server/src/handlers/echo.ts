import { type Task, task } from "@mainspring/sdk";

/** Returns its payload: the first thing to try, and a job that costs nothing but its way. */
export const echo: Task<unknown, unknown> = {
  ...task({ name: "echo", run: (payload: unknown) => payload ?? null }),
  // A payload of a megabyte would hold the event loop of its server while it is parsed and written again.
  forward: (payload) => (payload === "" ? "null" : payload),
};
