import type { EpochMs, Incarnation } from "../../domain/ids.ts";
import { type RecordPosition } from "../../domain/ingest.ts";
import { idTimeMs } from "../../domain/occurrence-id.ts";
import type { SubmitOutcome } from "../../ports/store.ts";
import {
  type DecidedRecord,
  type IngestPortion,
  type IngestPosition,
  type IngestRecord,
  type IngestRefusal,
  type IngestRewind,
  REFUSED_VALUE_MAX,
  type RefusedPlace,
  type RefusedRecord,
  type StoreIngest,
} from "../../ports/store-ingest.ts";
import type { RequestEnd, RequestJudge, TakenRequest } from "../../ports/store-requests.ts";
import type { Call, NotedCalls } from "./noted-calls.ts";
import { submit } from "./rows/submit.ts";
import type { StoreData } from "./store-data.ts";

const DAY_MS = 86_400_000;

interface Entry {
  id: string;
  end: RequestEnd;
  takenAt: EpochMs;
}

interface Refusal {
  refusal: IngestRefusal;
  refusedAt: EpochMs;
  isTold: boolean;
}

/** Positions in the log of requests, and what has become of its records; see StoreIngest. */
export class IngestTable {
  #positions = new Map<number, IngestPosition>();
  #entries = new Map<string, Entry>();
  #refusals = new Map<string, Refusal>();

  /** A copy with the same content. */
  copy(): IngestTable {
    const copy = new IngestTable();
    copy.#positions = new Map(this.#positions);
    copy.#entries = new Map(this.#entries);
    copy.#refusals = new Map(this.#refusals);
    return copy;
  }

  positions(): IngestPosition[] {
    return [...this.#positions.values()].sort((a, b) => a.partition - b.partition);
  }

  open(topic: string, partitions: readonly number[]): void {
    for (const partition of partitions) {
      if (this.#positions.get(partition)?.topic === topic) continue;
      this.#positions.set(partition, { partition, topic, next: 0, replayUntil: 0 });
    }
  }

  /** Moves a position. @returns whether it was where the caller believed it to be */
  advance({ partition, topic, from, next }: Omit<IngestPortion, "records">): boolean {
    const at = this.#positions.get(partition);
    if (at === undefined || at.topic !== topic || at.next !== from) return false;
    this.#positions.set(partition, { ...at, next });
    return true;
  }

  rewind({ partition, topic, from, to }: IngestRewind): boolean {
    const at = this.#positions.get(partition);
    if (at === undefined || at.topic !== topic || at.next !== from || to > from) return false;
    this.#positions.set(partition, { ...at, next: to, replayUntil: Math.max(at.replayUntil, from) });
    return true;
  }

  wasTaken(topic: string, partition: number, { offset, id }: Pick<DecidedRecord, "offset" | "id">): boolean {
    const entry = this.#entries.get(keyOf({ topic, partition, offset }));
    return entry?.id === id && entry.end.state === "TAKEN_IN";
  }

  decide(topic: string, partition: number, record: DecidedRecord, end: RequestEnd, now: EpochMs): void {
    const { offset, id, timestamp, contentType, value } = record;
    const key = keyOf({ topic, partition, offset });
    this.#entries.set(key, { id, end, takenAt: now });
    if (end.state !== "REFUSED") {
      this.#refusals.delete(key);
      return;
    }
    const valueBytes = value?.length ?? 0;
    const kept = valueBytes > REFUSED_VALUE_MAX ? null : value;
    const about = { topic, partition, offset, timestamp, contentType, value: kept, valueBytes };
    this.#refusals.set(key, { refusal: { ...about, problem: end.problem }, refusedAt: now, isTold: false });
  }

  get({ partition, offset }: RecordPosition): IngestRecord | null {
    const at = this.#positions.get(partition);
    if (at === undefined) return null;
    const entry = this.#entries.get(keyOf({ topic: at.topic, partition, offset }));
    if (entry === undefined) return offset < at.next ? null : { createdAt: null, finishedAt: null, end: null };
    const refusal = this.#refusals.get(keyOf({ topic: at.topic, partition, offset }))?.refusal;
    const createdAt = refusal === undefined ? idTimeMs(entry.id) : refusal.timestamp;
    return { createdAt, finishedAt: entry.takenAt, end: entry.end };
  }

  refused(before: RefusedPlace | null, limit: number): RefusedRecord[] {
    const present = [...this.#refusals.values()].filter(
      ({ refusal }) => this.#positions.get(refusal.partition)?.topic === refusal.topic,
    );
    const all = present.map(({ refusal: { partition, offset, timestamp, problem }, refusedAt }) => {
      return { partition, offset, refusedAt, createdAt: timestamp, problem };
    });
    const sorted = all.sort((a, b) => inOrder(b, a));
    return sorted.filter((one) => before === null || inOrder(one, before) < 0).slice(0, limit);
  }

  untold(partitions: readonly number[], limit: number): IngestRefusal[] {
    const open = [...this.#refusals.values()].filter(
      ({ refusal, isTold }) => !isTold && partitions.includes(refusal.partition),
    );
    return open.slice(0, limit).map(({ refusal }) => refusal);
  }

  told(refusals: readonly Pick<IngestRefusal, "topic" | "partition" | "offset">[]): void {
    for (const refusal of refusals) {
      const row = this.#refusals.get(keyOf(refusal));
      if (row !== undefined)
        this.#refusals.set(keyOf(refusal), { ...row, isTold: true, refusal: { ...row.refusal, value: null } });
    }
  }

  forget(now: EpochMs, days: number): void {
    for (const [key, { takenAt }] of this.#entries) if (takenAt < now - days * DAY_MS) this.#entries.delete(key);
    for (const [key, { refusedAt }] of this.#refusals) if (refusedAt < now - days * DAY_MS) this.#refusals.delete(key);
  }
}

function inOrder(a: RefusedPlace, b: RefusedPlace): number {
  return a.refusedAt - b.refusedAt || a.partition - b.partition || a.offset - b.offset;
}

function keyOf({ topic, partition, offset }: { topic: string; partition: number; offset: number }): string {
  return `${topic} ${partition} ${offset}`;
}

/** See StoreIngest.takeIn. */
function takeIn(
  data: StoreData,
  by: Incarnation,
  portion: IngestPortion,
  judge: Pick<RequestJudge, "conclude">,
): TakenRequest[] | null {
  const { partition, topic, from, next, records } = portion;
  if (!data.ingest.advance(portion)) return null;
  const asked = records.filter((record) => !data.ingest.wasTaken(topic, partition, record));
  const taken = asked.map((record): TakenRequest => {
    const { id, decision } = record;
    if ("state" in decision) return { id, end: decision, submitted: null };
    const [job] = decision.jobs;
    const isThere = job !== undefined && data.jobs.get(job.jobId) !== undefined;
    const there = job === undefined ? [] : [{ jobId: job.jobId, executionId: job.executionId, deduplicated: false }];
    const outcome: SubmitOutcome | undefined = isThere
      ? { kind: "ACCEPTED", replayed: true, jobs: there }
      : submit(data, by, [decision])[0];
    if (outcome === undefined) throw new Error("a submission has an outcome");
    return { id, end: judge.conclude(outcome), submitted: { submission: decision, outcome } };
  });
  for (const [i, record] of asked.entries())
    data.ingest.decide(topic, partition, record, (taken[i] as TakenRequest).end, data.now());
  const offsets = asked.map(({ offset }) => offset);
  data.tell({ kind: "INGESTED", at: data.now(), by, partition, topic, from, next, offsets, taken });
  return taken;
}

/** See StoreIngest. @param call sends a call of the node to the store */
export function ingest(data: StoreData, node: Incarnation, call: Call, noted: NotedCalls): StoreIngest {
  return {
    positions: () => call("positions", () => data.ingest.positions()),
    open: (topic, partitions) => {
      const sent = [...partitions];
      return call("open", () => data.ingest.open(topic, sent));
    },
    takeIn: (portion, judge) => {
      const sent = { ...portion, records: [...portion.records] };
      const submissions = sent.records.flatMap(({ decision }) => ("jobs" in decision ? [decision] : []));
      return noted.makeAll(
        "takeIn",
        judge.notesOf?.(submissions) ?? [],
        () => takeIn(data, node, sent, judge),
        (answer) => answer !== null,
      );
    },
    rewind: (move, note) =>
      noted.make("rewind", note, () => {
        const isMoved = data.ingest.rewind(move);
        if (isMoved) data.tell({ kind: "INGEST_REWOUND", at: data.now(), ...move });
        return isMoved;
      }),
    get: (position) => call("get", () => data.ingest.get(position)),
    refused: (...asked) => call("refused", () => data.ingest.refused(...asked)),
    untold: (...asked) => call("untold", () => data.ingest.untold(...asked)),
    told: (refusals) => {
      const sent = [...refusals];
      return call("told", () => data.ingest.told(sent));
    },
  };
}
