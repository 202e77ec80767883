import type { Moment } from "../history.ts";
import { type Checker, Violation } from "./checker.ts";
import type { Roll } from "./roll.ts";

/** What a gateway lent of one worker to one owner. */
interface Loan {
  account: number;
  granted: number;
  /** Numbers of the assignments that came under it. */
  used: Set<number>;
}

/**
 * DESIGN 9.7: a slot is lent to one owner at a time. What a gateway has lent of a worker, to all owners together, and not
 * seen used is never more than the worker can hold.
 */
export function slotsAreLentOnce(roll: Roll): Checker {
  /** By gateway and worker, then by owner. */
  const loans = new Map<string, Map<string, Loan>>();
  const ofWorker = (server: string, worker: string) => {
    const name = `${server}/${worker}`;
    const known = loans.get(name) ?? new Map<string, Loan>();
    loans.set(name, known);
    return known;
  };
  const lent = (moment: Extract<Moment, { kind: "LENT" }>) => {
    const owners = ofWorker(moment.server, moment.worker);
    const { owner, account, granted } = moment;
    const known = owners.get(owner);
    if (known?.account === account) known.granted = Math.max(known.granted, granted);
    else owners.set(owner, { account, granted, used: new Set() });
  };
  return {
    name: "slots are lent once",
    noticed(moment) {
      if (moment.kind === "ASSIGN_ARRIVED") {
        const loan = ofWorker(moment.server, moment.worker).get(moment.owner);
        if (loan?.account === moment.account) loan.used.add(moment.credit);
      } else if (moment.kind === "DECLARED_LOST") loans.delete(`${moment.server}/${moment.worker}`);
      if (moment.kind !== "LENT") return;
      lent(moment);
      const { server, worker } = moment;
      const attendance = roll.get(worker);
      if (attendance === undefined) return;
      const capacity = attendance.slots + attendance.prefetch;
      let open = 0;
      for (const { granted, used } of ofWorker(server, worker).values()) open += Math.max(0, granted - used.size);
      if (open > capacity) throw new Violation(`${server} has lent ${open} slots of ${worker}, which has ${capacity}`);
    },
  };
}
