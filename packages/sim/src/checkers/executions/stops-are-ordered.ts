import type { Moment, Ref } from "../history.ts";
import { type Checker, Violation } from "./checker.ts";
import type { Ledger } from "./ledger.ts";
import { nameOf } from "./roll.ts";

/** The order and the answer leave in one turn. */
const TOGETHER_MS = 1_000;

/**
 * A client that hears REQUESTED can rely on it: the worker of the attempt is told to stop, at once where the owner that
 * says so has sent that attempt itself. The worker of an attempt that was taken over is told when it is back.
 */
export function stopsAreOrdered(ledger: Ledger): Checker {
  const cancels = new Map<string, string>();
  const epochs = new Map<number, number>();
  /** The attempt that was sent last and its sender, by execution. */
  const sent = new Map<string, { attempt: number; owner: string }>();
  const ordered = new Set<string>();
  const promised: (Ref & { atMs: number })[] = [];
  const promise = ({ commandId, owner, atMs }: Extract<Moment, { kind: "ANSWER_LEFT" }>) => {
    const executionId = cancels.get(commandId) ?? "";
    const last = sent.get(executionId);
    const account = ledger.get(executionId);
    // An attempt that was assigned and cancelled in one commit was never sent: then the one before was the last, and
    // has ended.
    if (last?.owner !== owner || account === undefined || account.ended.has(last.attempt)) return;
    const epoch = account.assigned.get(last.attempt)?.epoch;
    if (epoch === epochs.get(account.row.job.shard)) promised.push({ executionId, attempt: last.attempt, atMs });
  };
  return {
    name: "stops are ordered",
    saw(event) {
      if (event.kind === "TAKEN_OVER") for (const { shard, epoch } of event.shards) epochs.set(shard, epoch);
      if (event.kind !== "COMMANDED" || event.command.kind !== "CANCEL") return;
      cancels.set(event.command.id, event.command.executionId);
    },
    noticed(moment) {
      if (moment.kind === "ASSIGN_LEFT") sent.set(moment.executionId, moment);
      if (moment.kind === "STOP_LEFT") ordered.add(nameOf(moment));
      if (moment.kind === "ANSWER_LEFT" && moment.outcome === "REQUESTED") promise(moment);
      while (promised[0] !== undefined && moment.atMs > promised[0].atMs + TOGETHER_MS) {
        const { executionId, attempt } = promised.shift() as Ref;
        if (ordered.has(nameOf({ executionId, attempt }))) continue;
        throw new Violation(
          `nobody had attempt ${attempt} of ${executionId} stopped, and its cancellation was REQUESTED`,
        );
      }
    },
  };
}
