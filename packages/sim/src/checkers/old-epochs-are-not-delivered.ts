import { type Checker, Violation } from "./checker.ts";
import type { Ledger } from "./ledger.ts";

/** DESIGN 9.8: from when a gateway has heard of a shard's epoch on, it delivers no assignment of an older one. */
export function oldEpochsAreNotDelivered(ledger: Ledger): Checker {
  const heard = new Map<string, number>();
  return {
    name: "old epochs are not delivered",
    noticed(moment) {
      if (moment.kind === "OWNER_ARRIVED") {
        for (const { shard, epoch } of moment.shards) {
          const name = `${moment.server}/${shard}`;
          heard.set(name, Math.max(heard.get(name) ?? 0, epoch));
        }
      }
      if (moment.kind !== "ASSIGN_SENT") return;
      const { server, executionId, attempt } = moment;
      const account = ledger.get(executionId);
      const epoch = account?.assigned.get(attempt)?.epoch;
      const known = heard.get(`${server}/${account?.row.job.shard}`) ?? 0;
      // What nobody wrote down is another checker's business.
      if (epoch === undefined || epoch >= known) return;
      throw new Violation(
        `${server} sent attempt ${attempt} of ${executionId} of epoch ${epoch}, and knows of ${known}`,
      );
    },
  };
}
