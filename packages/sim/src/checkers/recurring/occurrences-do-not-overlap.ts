import type { StoreEvent } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";
import { isOver, type Ledger } from "./ledger.ts";
import type { PlanBook, PlanBooks } from "./plan-books.ts";

/**
 * An occurrence fires while an earlier one is open only if its job allows that; a fixed delay is kept; a misfire is
 * really late.
 */
export function occurrencesDoNotOverlap(ledger: Ledger, books: PlanBooks): Checker {
  const lastOf = new Map<string, { id: string; version: number }>();
  /**
   * Attempts whose results the store refused for their data: they have ended, and a later commit writes how. The value
   * is the time of a final end, or null: the consequences of the end were written, but if the owner is lost before that
   * commit, the next owner reports another end.
   */
  const refused = new Map<string, number | null>();
  const fired = (event: Extract<StoreEvent, { kind: "COMMITTED" }>) => {
    for (const { id, job, jobVersion, trigger, state } of event.born) {
      const book = books.all.get(job.jobId);
      if (book === undefined || trigger !== "SCHEDULE") continue;
      const version = books.versionOf(book, jobVersion);
      const last = lastOf.get(job.jobId);
      lastOf.set(job.jobId, { id, version: jobVersion });
      if (version === undefined || last?.version !== jobVersion || state !== "PENDING") continue;
      // The rule that planned an instant before the edit fires it, although the execution runs by the new definition.
      if (job.definition.scheduledAt <= (version.followedAt ?? Number.POSITIVE_INFINITY)) continue;
      const before = ledger.get(last.id)?.row;
      if (before === undefined || version.rule.overlap === "ALLOW") continue;
      if (!isOver(before.state) && !refused.has(before.id))
        throw new Violation(`${id} fired while ${last.id} was ${before.state}`);
      const { times } = version.rule;
      const endedAt = refused.get(before.id) ?? before.finishedAt;
      if (times.type !== "INTERVAL" || times.mode !== "FIXED_DELAY" || endedAt === null) continue;
      // The previous rule planned the instant, and this one fired it, because an edit came between.
      if (before.job.definition.scheduledAt <= (version.followedAt ?? 0)) continue;
      const afterMs = job.definition.scheduledAt - endedAt;
      if (afterMs < times.everyMs) throw new Violation(`${id} was planned ${afterMs} ms after the end of ${last.id}`);
    }
  };
  const skipped = ({ planned, at }: Extract<StoreEvent, { kind: "COMMITTED" }>) => {
    for (const { after, skips } of planned) {
      const book = books.all.get(after.jobId);
      if (book === undefined) continue;
      for (const { to, reason } of skips) {
        // The checker judges an instant by the rule that planned it.
        const graceMs = Math.min(...book.versions.map((version) => version.rule.misfireGraceMs));
        const isLate = at - to > graceMs || book.pausedBefore;
        if (reason === "OVERLAP" && allowsOverlap(book, after.plan.version, to))
          throw new Violation(`${book.jobId} allows overlaps`);
        if (reason === "PAUSED" && !book.pausedBefore) throw new Violation(`${book.jobId} was never paused`);
        if (reason.startsWith("MISFIRE") && !isLate)
          throw new Violation(`${to} of ${book.jobId} was not late: ${reason}`);
      }
    }
  };
  return {
    name: "occurrences do not overlap",
    saw(event) {
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      for (const { id } of event.outcome.refused) {
        const change = event.asked.changes.find((one) => one.id === id);
        refused.set(id, refused.get(id) ?? change?.finishedAt ?? null);
      }
      fired(event);
      skipped(event);
    },
  };
}

/**
 * Whether a version allows the overlap. One commit may end an instant of an earlier version and follow an edit, so
 * every version that may have planned the instant is asked.
 */
function allowsOverlap({ versions }: PlanBook, followed: number, instant: number): boolean {
  const mayHavePlanned = versions.filter(({ version, replacedAt }) => {
    return version <= followed && (replacedAt === null || instant <= replacedAt);
  });
  return mayHavePlanned.every(({ rule }) => rule.overlap === "ALLOW");
}
