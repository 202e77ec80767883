import { type Checker, Violation } from "../checker.ts";
import type { Ledger } from "../recurring/ledger.ts";

/** Once a gateway has heard of a shard's epoch, it delivers no assignment of an older epoch. */
export function oldEpochsAreNotDelivered(ledger: Ledger): Checker {
  /** Epochs by gateway, then by shard. */
  const heard = new Map<string, Map<number, number>>();
  return {
    name: "old epochs are not delivered",
    noticed(event) {
      if (event.kind === "OWNER_ARRIVED") {
        const known = heard.get(event.server) ?? new Map<number, number>();
        heard.set(event.server, known);
        for (const { shard, epoch } of event.shards) if (epoch > (known.get(shard) ?? 0)) known.set(shard, epoch);
      }
      if (event.kind !== "ASSIGN_SENT") return;
      const { server, executionId, attempt } = event;
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
