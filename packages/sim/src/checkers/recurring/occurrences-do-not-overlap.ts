import type { StoreEvent } from "../store/history.ts";
import { type Checker, Violation } from "./checker.ts";
import { isOver, type Ledger } from "./ledger.ts";
import type { PlanBook, PlanBooks } from "./plan-books.ts";

/** An occurrence fires while one before it is open only where its job allows it; a fixed delay is kept; misfires are such. */
export function occurrencesDoNotOverlap(ledger: Ledger, books: PlanBooks): Checker {
  const lastOf = new Map<string, { id: string; version: number }>();
  /**
   * Their results were refused for their data: they have ended, and a later commit says as what. When, if it was for
   * good: what follows from the end was written, and where the owner is lost before that commit, the next one has
   * another end to tell.
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
      // The rule that planned an instant before the edit fires it, though it runs by the new definition.
      if (job.definition.scheduledAt <= (version.followedAt ?? Number.POSITIVE_INFINITY)) continue;
      const before = ledger.get(last.id)?.row;
      if (before === undefined || version.rule.overlap === "ALLOW") continue;
      if (!isOver(before.state) && !refused.has(before.id))
        throw new Violation(`${id} fired while ${last.id} was ${before.state}`);
      const { times } = version.rule;
      const endedAt = refused.get(before.id) ?? before.finishedAt;
      if (times.type !== "INTERVAL" || times.mode !== "FIXED_DELAY" || endedAt === null) continue;
      // Planned by the rule before, and fired by this one: an edit came between.
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
        // The checker judges an instant by the rule that had planned it.
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

/** One commit may end what an earlier version had planned and follow an edit: any version that the instant may be of is asked. */
function allowsOverlap({ versions }: PlanBook, followed: number, instant: number): boolean {
  const mayHavePlanned = versions.filter(({ version, replacedAt }) => {
    return version <= followed && (replacedAt === null || instant <= replacedAt);
  });
  return mayHavePlanned.every(({ rule }) => rule.overlap === "ALLOW");
}
