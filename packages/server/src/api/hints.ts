import type { Incarnation } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { HintedRow } from "../ports/messages.ts";
import type { NewJob, Submission, SubmitOutcome } from "../ports/store.ts";
import { candidateOf } from "./new-job.ts";

/** Larger payloads are read from the store when they are needed. */
const PAYLOAD_BYTES_MAX = 4 * 1024;

/** The jobs that a commit has really written: neither replays of an earlier request nor repeats of a held unique key. */
export function writtenJobs(submissions: readonly Submission[], outcomes: readonly SubmitOutcome[]): NewJob[] {
  return submissions.flatMap(({ jobs }, index) => {
    const outcome = outcomes[index];
    if (outcome?.kind !== "ACCEPTED" || outcome.replayed) return [];
    return jobs.filter((_, position) => outcome.jobs[position]?.deduplicated === false);
  });
}

/** Tells the owners of new jobs about them, so that they need not be found. */
export function sendHints(bus: Bus, jobs: readonly NewJob[]): void {
  hintRows(bus, jobs.map(hintOf));
}

export function hintRows(bus: Bus, hints: readonly HintedRow[]): void {
  const byOwner = new Map<Incarnation, HintedRow[]>();
  for (const hint of hints) {
    const owner = bus.ownerOf(hint.row.shard);
    if (owner === null) continue;
    const rows = byOwner.get(owner);
    if (rows === undefined) byOwner.set(owner, [hint]);
    else rows.push(hint);
  }
  for (const [node, rows] of byOwner) bus.send({ node, role: "scheduler" }, { kind: "HINT", rows });
}

function hintOf(job: NewJob): HintedRow {
  const { payload } = job;
  const small = payload !== null && payload.length <= PAYLOAD_BYTES_MAX;
  // A copy: the payload is a part of its request's body, which would be kept whole for as long as the job waits.
  return { row: candidateOf(job), payload: small ? new Uint8Array(payload) : null };
}
