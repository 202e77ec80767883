import { IngestBody, SeekBody, SeekRequest } from "@mainspring/contract";
import type { EpochMs } from "../../domain/ids.ts";
import {
  type LogTopic,
  type RequestLog,
  type RequestLogReader,
  RequestLogUnavailable,
} from "../../ports/request-log.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { IngestPosition, StoreIngest } from "../../ports/store-ingest.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { answer, problems } from "../http/documented.ts";
import { busy, invalid, ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { parseInstant } from "../http/instants.ts";

export interface IngestRoutesDependencies {
  store: StoreIngest;
  /** null: the node has no log of requests. */
  log: { requestLog: Pick<RequestLog, "openReader">; mode: "fallback" | "kafka" } | null;
  runtime: Runtime;
  retentionDays: number;
}

const tags = ["requests"];
const DAY_MS = 86_400_000;
/** Number of attempts to set back a position that moves meanwhile. */
const TRIES = 20;

/** Routes GET /v1/ingest and POST /v1/ingest/seek */
export function ingestRoutes(app: HttpApp, deps: IngestRoutesDependencies): void {
  const read = {
    operationId: "getIngest",
    tags,
    summary: "How far the records of the topic of requests are taken in",
    response: { 200: answer(IngestBody, "The positions"), ...problems("wrong-state") },
  };
  app.get("/v1/ingest", { schema: read, config: { scope: "system:admin" } }, () =>
    reading(deps, async (reader, topic, mode) => {
      const known = new Map((await deps.store.positions()).map((position) => [position.partition, position]));
      const partitions: IngestBody["partitions"] = [];
      for (let partition = 0; partition < topic.partitions; partition++) {
        const position = known.get(partition);
        const next = position?.topic === topic.id ? position.next : 0;
        const end = await reader.end(partition);
        partitions.push({ partition, next, end, lag: Math.max(0, end - next) });
      }
      return { mode, partitions };
    }),
  );
  const seek = {
    operationId: "seekIngest",
    tags,
    summary: "Read the records of the topic of requests again, from a time on",
    body: SeekRequest,
    response: {
      200: answer(SeekBody, "Positions that were set back"),
      ...problems("wrong-state", "payload-too-large", "unsupported-media-type"),
    },
  };
  app.post("/v1/ingest/seek", { schema: seek, config: { scope: "system:admin" } }, (request) =>
    reading(deps, async (reader, topic) => {
      // The schema has accepted the text.
      const to = parseInstant(request.body.to) as EpochMs;
      checkAge(to, deps);
      const partitions: SeekBody["partitions"] = [];
      for (const { partition, topic: id } of await deps.store.positions()) {
        if (id !== topic.id || partition >= topic.partitions) continue;
        const offset = await reader.offsetAt(partition, to);
        const move =
          offset === null
            ? null
            : await rewound(deps.store, partition, topic.id, offset, (from) =>
                noteOf(request, String(partition), { from, to: offset ?? from }),
              );
        if (move !== null) partitions.push(move);
      }
      return { partitions };
    }),
  );
}

/** @throws {ProblemError} 400: the store no longer knows which records of that time it has */
function checkAge(to: EpochMs, { runtime, retentionDays }: IngestRoutesDependencies): void {
  if (to >= runtime.now() - retentionDays * DAY_MS) return;
  const message = `must be within the last ${retentionDays} days (MAINSPRING_RETENTION_DAYS): of older records the store does not know any more which ones it took in`;
  throw new ProblemError(invalid([{ field: "to", message }]));
}

/** @returns null: the position is not behind the offset */
async function rewound(
  store: StoreIngest,
  partition: number,
  topic: string,
  to: number,
  noteFrom: (from: number) => AuditNote,
) {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const isIt = (position: IngestPosition) => position.partition === partition && position.topic === topic;
    const from = (await store.positions()).find(isIt)?.next ?? 0;
    if (from <= to) return null;
    if (await store.rewind({ partition, topic, from, to }, noteFrom(from))) return { partition, from, to };
  }
  throw new ProblemError(problem("wrong-state", `partition ${partition} is taken in too quickly: try again`));
}

/** @throws {ProblemError} 409: the node has no log of requests; 503: it does not answer */
async function reading<T>(
  { log }: IngestRoutesDependencies,
  use: (reader: RequestLogReader, topic: LogTopic, mode: "fallback" | "kafka") => Promise<T>,
): Promise<T> {
  if (log === null) {
    const detail = "this node takes no jobs through Kafka: MAINSPRING_INGEST is direct";
    throw new ProblemError(problem("wrong-state", detail));
  }
  const reader = await log.requestLog.openReader();
  try {
    const topic = await reader.topic();
    if (topic === null) throw new RequestLogUnavailable("there is no topic of requests");
    return await use(reader, topic, log.mode);
  } catch (error) {
    if (error instanceof RequestLogUnavailable) throw busy("unavailable", `${error.message}; try again`, 1);
    throw error;
  } finally {
    reader.close();
  }
}
