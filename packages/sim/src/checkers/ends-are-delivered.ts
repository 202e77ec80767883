import {
  type Committed,
  type Delivery,
  END_KINDS,
  type ExecutionRow,
  eventId,
  isFinal,
} from "@mainspring/server/testing";
import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";

/** Time in ms in which a delivery that is due is sent once faults have ended. */
const LATE_MS = 30_000;

/**
 * Each committed end of an execution with `onFinish` reaches its receiver at least once, or its delivery is visible: it FAILED, or it
 * waits for its next try. No receiver is told of another end.
 * @param deliveries all deliveries that the store has
 */
export function endsAreDelivered(hasWebhooks: boolean, deliveries: () => Iterable<Delivery>): Checker {
  /** Events of ends, with the time of their commits. */
  const ends = new Map<string, number>();
  const told = new Set<string>();
  let nowMs = 0;
  return {
    name: "ends are delivered",
    saw(event) {
      if (!hasWebhooks || event.kind !== "COMMITTED") return;
      for (const end of endsOf(event)) ends.set(end, event.at - EPOCH_MS);
    },
    noticed(event) {
      nowMs = event.atMs;
      if (event.kind !== "RECEIVER_TOOK") return;
      if (!ends.has(event.event)) throw new Violation(`a receiver was told of ${event.event}, which was not written`);
      told.add(event.event);
    },
    atEnd() {
      if (!hasWebhooks) return;
      const visible = new Map(Array.from(deliveries(), (delivery) => [eventId(delivery.event), delivery]));
      for (const [end, atMs] of ends) {
        if (told.has(end) || atMs > nowMs - LATE_MS) continue;
        const delivery = visible.get(end);
        if (delivery === undefined) throw new Violation(`no receiver was told of ${end}, and no delivery tells why`);
        const isOverdue = delivery.state === "PENDING" && (delivery.nextAt ?? 0) < EPOCH_MS + nowMs - LATE_MS;
        if (isOverdue || delivery.state === "DELIVERED")
          throw new Violation(
            `no receiver was told of ${end}: its delivery is ${delivery.state}, ${delivery.tries} tries`,
          );
      }
    },
  };
}

function endsOf({ applied, born }: Committed): string[] {
  const ended = applied.map(({ after }) => after).filter(({ queue }) => queue === "NONE");
  return [...ended, ...born].flatMap((row) => endOf(row) ?? []);
}

/** Id of the event of the row's end; null: the row is not final, or nobody wants to know. */
function endOf({ id, attempt, state, job }: ExecutionRow): string | null {
  if (job.definition.policy.onFinish === undefined || !isFinal(state)) return null;
  return `${id}/${attempt}/${END_KINDS[state]}`;
}
