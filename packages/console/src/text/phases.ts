import type { ExecutionBody } from "@mainspring/contract";

export interface Phase {
  kind: "queued" | "running" | "failed" | "backoff";
  ms: number;
}

/** Attempts that the timeline shows: the newest ones. */
const ATTEMPTS_MAX = 50;

type Timed = Pick<ExecutionBody, "scheduledAt" | "finishedAt" | "state"> & {
  attempts: readonly Pick<ExecutionBody["attempts"][number], "state" | "startedAt" | "finishedAt">[];
};

/** Phases of an execution from its due time on. @param runningSince start of an attempt that has not ended; null: none */
export function phasesOf(
  { scheduledAt, attempts, finishedAt }: Timed,
  runningSince: string | null,
  nowMs: number,
): Phase[] {
  const shown = attempts.slice(-ATTEMPTS_MAX);
  const phases: Phase[] = [];
  const earlier = attempts.length > shown.length ? attempts[attempts.length - shown.length - 1] : undefined;
  let at = Date.parse(earlier?.finishedAt ?? scheduledAt);
  const add = (kind: Phase["kind"], until: number) => {
    if (until > at) phases.push({ kind, ms: until - at });
    at = Math.max(at, until);
  };
  const waits = () => (phases.length === 0 && earlier === undefined ? "queued" : "backoff");
  for (const { state, startedAt, finishedAt: endedAt } of shown) {
    if (startedAt !== null) add(waits(), Date.parse(startedAt));
    add(state === "SUCCEEDED" || state === "SUSPENDED" ? "running" : "failed", Date.parse(endedAt));
  }
  if (finishedAt !== null) return phases;
  if (runningSince !== null) add(waits(), Date.parse(runningSince));
  add(runningSince === null ? waits() : "running", nowMs);
  return phases;
}
