import type { StoreEvent } from "@mainspring/server/testing";
import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";

type Ingested = Extract<StoreEvent, { kind: "INGESTED" }>;

/** Time in ms in which a record is decided once faults have ended, and in which a refusal is told. */
const LATE_MS = 90_000;

/**
 * Each record of the log of requests is taken in exactly once, or refused, which the log is told. Positions move forward, over
 * decided records, from where they are; only a seek sets one back. A replay writes no job.
 */
export function recordsAreTakenInOnce(): Checker {
  /** Records of the present topic that are not decided, with the times of their writing. */
  let open = new Map<string, number>();
  let appended = new Set<string>();
  let topic: string | null = null;
  const positions = new Map<string, number>();
  const decided = new Map<string, "TAKEN_IN" | "REFUSED">();
  /** Refusals that the log was not told of, with their times. */
  const untold = new Map<string, number>();
  const written = new Set<string>();
  let nowMs = 0;
  const taken = (event: Ingested) => {
    const at = `${event.topic} ${event.partition}`;
    if ((positions.get(at) ?? 0) !== event.from || event.next < event.from)
      throw new Violation(
        `the position of ${at} moves from ${event.from} to ${event.next}, and was ${positions.get(at)}`,
      );
    positions.set(at, event.next);
    for (const [i, offset] of event.offsets.entries()) {
      const { end, submitted } = event.taken[i] as (typeof event.taken)[number];
      const record = `${at} ${offset}`;
      if (offset < event.from || offset >= event.next)
        throw new Violation(`the record ${record} is decided, and the position moves past others`);
      if (decided.get(record) === "TAKEN_IN") throw new Violation(`the record ${record} was taken in, and is again`);
      decided.set(record, end.state === "TAKEN_IN" ? "TAKEN_IN" : "REFUSED");
      open.delete(record);
      if (end.state === "REFUSED") untold.set(record, event.at - EPOCH_MS);
      else untold.delete(record);
      const outcome = submitted?.outcome;
      if (end.state !== "TAKEN_IN" || outcome?.kind !== "ACCEPTED" || outcome.replayed || end.deduplicated) continue;
      if (written.has(end.jobId)) throw new Violation(`the job ${end.jobId} was written for two records`);
      written.add(end.jobId);
    }
    for (let offset = event.from; offset < event.next; offset++) {
      const record = `${at} ${offset}`;
      if (appended.has(record) && !decided.has(record))
        throw new Violation(`the position of ${at} moves past the record ${offset}, which nobody has decided`);
    }
  };
  return {
    name: "records are taken in once",
    saw(event) {
      if (event.kind === "INGEST_REWOUND") {
        const at = `${event.topic} ${event.partition}`;
        if ((positions.get(at) ?? 0) !== event.from || event.to > event.from)
          throw new Violation(`the position of ${at} goes from ${event.from} back to ${event.to}, and was elsewhere`);
        positions.set(at, event.to);
      }
      if (event.kind === "INGESTED") taken(event);
    },
    noticed(event) {
      nowMs = event.atMs;
      if (event.kind === "LOG_APPENDED") {
        topic ??= event.topic;
        const record = `${event.topic} ${event.partition} ${event.offset}`;
        appended.add(record);
        open.set(record, event.atMs);
      }
      if (event.kind === "LOG_RECREATED") {
        topic = event.topic;
        open = new Map();
        appended = new Set();
      }
      if (event.kind === "LOG_ACCEPTED") {
        const record = `${topic} ${event.request.replace("-", " ")}`;
        if (!appended.has(record) && appended.size > 0 && topic?.endsWith("0000") === true)
          throw new Violation(`the API has accepted ${event.request}, and the log has no such record`);
      }
      if (event.kind === "LOG_TOLD_REFUSED")
        for (const told of event.records) untold.delete(`${told.topic} ${told.partition} ${told.offset}`);
    },
    atEnd() {
      for (const [record, atMs] of open)
        if (atMs < nowMs - LATE_MS) throw new Violation(`nobody has decided the record ${record}`);
      for (const [record, atMs] of untold)
        if (atMs < nowMs - LATE_MS) throw new Violation(`the log was not told that the record ${record} is refused`);
    },
  };
}
