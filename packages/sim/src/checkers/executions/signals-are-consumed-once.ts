import type { Committed } from "@mainspring/server/testing";
import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import type { Account, Ledger } from "../recurring/ledger.ts";

/** Time within which a signal ends the wait for it while no fault is active, in milliseconds. */
const BOUND_MS = 20_000;

interface Signals {
  /** Names of signals that were accepted and not consumed, with the time of their acceptance, by id. */
  open: Map<string, { name: string; atMs: number }>;
  /** Names of the steps that consumed signals, by the id of the signal. */
  consumers: Map<string, string>;
  /** Names of the signals that steps wait for, by the name of the step. */
  awaited: Map<string, readonly string[]>;
}

/**
 * A signal is consumed by one step, in the commit that records the step, and every attempt sees the same signal there.
 * No execution waits for a signal that it has.
 */
export function signalsAreConsumedOnce(ledger: Ledger, quiet: Quiet): Checker {
  const executions = new Map<string, Signals>();
  const of = (executionId: string): Signals => {
    const known = executions.get(executionId) ?? { open: new Map(), consumers: new Map(), awaited: new Map() };
    executions.set(executionId, known);
    return known;
  };
  const consume = (executionId: string, signalId: string, step: string) => {
    const { consumers, open } = of(executionId);
    const known = consumers.get(signalId) ?? step;
    if (known !== step) throw new Violation(`${known} and ${step} of ${executionId} consumed the signal ${signalId}`);
    consumers.set(signalId, step);
    open.delete(signalId);
  };
  const committed = ({ asked, outcome }: Committed) => {
    const left = new Set([...outcome.missed, ...outcome.refused.map(({ id }) => id)]);
    for (const { executionId, kind, name, data, signalId } of asked.steps) {
      if (left.has(executionId)) continue;
      const { awaited } = of(executionId);
      if (kind === "WAIT") awaited.set(name, JSON.parse(Buffer.from(data ?? []).toString()).signals as string[]);
      else awaited.delete(name);
      if (signalId !== undefined) consume(executionId, signalId, name);
    }
  };
  const judge = ({ row }: Account, nowMs: number) => {
    // An execution that is due waits for a worker, which is no matter of its signals.
    if (row.dueAt - EPOCH_MS <= nowMs) return;
    const { open, awaited } = of(row.id);
    const names = new Set([...awaited.values()].flat());
    for (const [id, { name, atMs }] of open) {
      const sinceMs = Math.max(atMs, row.updatedAt - EPOCH_MS, quiet.sinceMs);
      if (!names.has(name) || nowMs - sinceMs < BOUND_MS) continue;
      throw new Violation(`${row.id} waits for ${name}, and has the signal ${id} for ${nowMs - atMs} ms`);
    }
  };
  return {
    name: "signals are consumed once",
    saw(event) {
      if (event.kind === "SIGNALLED") {
        const { id, name } = event.signal;
        of(event.executionId).open.set(id, { name, atMs: event.at - EPOCH_MS });
      } else if (event.kind === "COMMITTED" && event.outcome.status === "APPLIED") committed(event);
    },
    noticed(event) {
      // Another definition of the job may sleep in a step whose name an earlier wait for signals has recorded.
      if (event.kind === "WAIT_BEGUN" && event.isSleep) of(event.executionId).awaited.delete(event.name);
      if (event.kind === "WAIT_OVER" && event.signalId !== null) consume(event.executionId, event.signalId, event.name);
    },
    looked(nowMs) {
      for (const id of ledger.open) {
        const account = ledger.get(id) as Account;
        if (account.current === null && account.row.steps === "AWAITING" && account.row.queue !== "PARKED")
          judge(account, nowMs);
      }
    },
  };
}
