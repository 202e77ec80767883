import assert from "node:assert/strict";
import { it } from "node:test";
import type { RecurrenceRule, StoreEvent } from "@mainspring/server/testing";
import { Ledger } from "./ledger.ts";
import { occurrencesDoNotOverlap } from "./occurrences-do-not-overlap.ts";
import { PlanBooks } from "./plan-books.ts";

const EDITED = 1_000;

/**
 * A commit that skips an instant because of an overlap, and follows the last of these definitions, each of which
 * replaced the one before.
 */
function skip(instant: number, overlaps: readonly RecurrenceRule["overlap"][]): void {
  const books = new PlanBooks();
  const versions = overlaps.map((overlap, index) => {
    const replacedAt = index < overlaps.length - 1 ? EDITED * (index + 1) : null;
    return { version: index + 1, rule: { overlap, misfireGraceMs: 0 }, writtenAt: 0, followedAt: 0, replacedAt };
  });
  books.all.set("job", { jobId: "job", versions, pausedBefore: false } as never);
  const skips = [{ from: instant, to: instant, count: 1, reason: "OVERLAP" }];
  const planned = [{ after: { jobId: "job", plan: { version: overlaps.length } }, skips }];
  const outcome = { status: "APPLIED", refused: [] };
  const event = { kind: "COMMITTED", at: 5_000, outcome, asked: { changes: [] }, born: [], planned };
  occurrencesDoNotOverlap(new Ledger(), books).saw?.(event as unknown as StoreEvent);
}

it("an instant is skipped for an overlap only where a definition that may have planned it forbids that", () => {
  const [before, after] = [EDITED - 1, EDITED + 1];
  skip(before, ["SKIP", "ALLOW"]);
  skip(after, ["ALLOW", "SKIP"]);
  for (const bad of [
    () => skip(after, ["SKIP", "ALLOW"]),
    () => skip(after, ["ALLOW"]),
    () => skip(before, ["ALLOW", "ALLOW"]),
  ]) {
    assert.throws(bad, /job allows overlaps/);
  }
});
