import { isFinal } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";

/** Concurrent puts of one name make one job. Nothing else in the simulation has a name. */
export function namesArePutOnce(): Checker {
  const nameOf = new Map<string, string>();
  const active = new Map<string, string>();
  return {
    name: "names are put once",
    saw(event) {
      if (event.kind === "SUBMITTED") {
        for (const { id, job } of event.rows) {
          const { name } = job.definition;
          if (name === null) continue;
          const other = active.get(name);
          if (other !== undefined) throw new Violation(`${id} and ${other} are both of the one job ${name}`);
          active.set(name, id);
          nameOf.set(id, name);
        }
      }
      if (event.kind !== "COMMITTED") return;
      for (const { after } of event.applied) {
        const name = nameOf.get(after.id);
        if (name !== undefined && isFinal(after.state)) active.delete(name);
      }
    },
  };
}
