import { type Task, task } from "@mainspring/sdk";

/** Returns its payload: a first handler to try, and a job whose only cost is its way through the system. */
export const echo: Task<unknown, unknown> = {
  ...task({ name: "echo", run: (payload: unknown) => payload ?? null }),
  // Parsing and writing a payload of a megabyte would block the event loop of its server.
  forward: (payload) => (payload === "" ? "null" : payload),
};
