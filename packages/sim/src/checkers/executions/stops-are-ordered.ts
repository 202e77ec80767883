import type { Ref, SimEvent } from "../../history.ts";
import { type Checker, Violation } from "../checker.ts";
import { nameOf } from "../cluster/worker-tracker.ts";
import type { Ledger } from "../recurring/ledger.ts";

/** Time within which the order and the answer must leave, in milliseconds, because both leave in one turn. */
const TOGETHER_MS = 1_000;

/**
 * A client that gets REQUESTED can rely on it: the worker of the attempt is told to stop, at once if the owner that
 * answers has sent that attempt itself. The worker of an attempt that was taken over is told when it reconnects.
 */
export function stopsAreOrdered(ledger: Ledger): Checker {
  const cancels = new Map<string, string>();
  const epochs = new Map<number, number>();
  /** Attempt that was sent last, and its sender, by execution. */
  const sent = new Map<string, { attempt: number; owner: string }>();
  const ordered = new Set<string>();
  const promised: (Ref & { atMs: number })[] = [];
  const promise = ({ commandId, owner, atMs }: Extract<SimEvent, { kind: "ANSWER_LEFT" }>) => {
    const executionId = cancels.get(commandId) ?? "";
    const last = sent.get(executionId);
    const account = ledger.get(executionId);
    // An attempt that was assigned and cancelled in one commit was never sent, so the previous attempt was the last one
    // sent, and has ended.
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
    noticed(event) {
      if (event.kind === "ASSIGN_LEFT") sent.set(event.executionId, event);
      if (event.kind === "STOP_LEFT") ordered.add(nameOf(event));
      if (event.kind === "ANSWER_LEFT" && event.outcome === "REQUESTED") promise(event);
      while (promised[0] !== undefined && event.atMs > promised[0].atMs + TOGETHER_MS) {
        const { executionId, attempt } = promised.shift() as Ref;
        if (ordered.has(nameOf({ executionId, attempt }))) continue;
        throw new Violation(
          `nobody had attempt ${attempt} of ${executionId} stopped, and its cancellation was REQUESTED`,
        );
      }
    },
  };
}
