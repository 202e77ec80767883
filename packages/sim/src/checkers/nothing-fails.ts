import { type Checker, Violation } from "./checker.ts";

/** No server logs an error: external faults cause warnings at most. */
export function nothingFails(): Checker {
  return {
    name: "nothing fails",
    noticed(event) {
      if (event.kind === "ERROR_LOGGED") throw new Violation(`${event.server} logged: ${event.message}`);
    },
  };
}
