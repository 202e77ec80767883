import { type Checker, Violation } from "./checker.ts";

/** No server logs an error: whatever is done to it from outside is a warning at most. */
export function nothingFails(): Checker {
  return {
    name: "nothing fails",
    noticed(moment) {
      if (moment.kind === "ERROR_LOGGED") throw new Violation(`${moment.server} logged: ${moment.message}`);
    },
  };
}
