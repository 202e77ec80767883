import { type Checker, Violation } from "./checker.ts";
import type { Ledger } from "./ledger.ts";

/** From when a gateway has heard of a shard's epoch on, it delivers no assignment of an older one. */
export function oldEpochsAreNotDelivered(ledger: Ledger): Checker {
  /** Epochs by gateway, then by shard. */
  const heard = new Map<string, Map<number, number>>();
  return {
    name: "old epochs are not delivered",
    noticed(moment) {
      if (moment.kind === "OWNER_ARRIVED") {
        const known = heard.get(moment.server) ?? new Map<number, number>();
        heard.set(moment.server, known);
        for (const { shard, epoch } of moment.shards) if (epoch > (known.get(shard) ?? 0)) known.set(shard, epoch);
      }
      if (moment.kind !== "ASSIGN_SENT") return;
      const { server, executionId, attempt } = moment;
      const account = ledger.get(executionId);
      const epoch = account?.assigned.get(attempt)?.epoch;
      const known = heard.get(server)?.get(account?.row.job.shard ?? -1) ?? 0;
      // Another checker judges an assignment that no owner wrote.
      if (epoch === undefined || epoch >= known) return;
      throw new Violation(
        `${server} sent attempt ${attempt} of ${executionId} of epoch ${epoch}, and knows of ${known}`,
      );
    },
  };
}
