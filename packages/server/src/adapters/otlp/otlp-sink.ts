import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
  type Resource,
  type Span,
} from "@mainspring/proto/otlp";
import type { Logger } from "pino";
import type { EventSink } from "../../ports/event-sink.ts";
import type { OtlpAddress } from "../../ports/otlp-address.ts";
import type { EventRow } from "../../ports/store-events.ts";
import { OtlpClient } from "./otlp-client.ts";
import { SCOPE } from "./resource.ts";
import { spansOf } from "./spans.ts";

const PATH = "/v1/traces";
/** Largest number of spans of one request, about 600 bytes each. */
const SPANS_MAX = 1_000;

export interface OtlpSinkOptions {
  address: OtlpAddress;
  /** Description of the servers, equal on all nodes: a span is the same whichever node sends it. */
  resource: Resource;
  log: Pick<Logger, "error">;
}

/**
 * Sink that makes spans of lifecycle events and sends them to a receiver of OTLP. Spans are made of the events of one row
 * alone, so the sink remembers nothing, and repeated rows give spans with equal ids.
 */
export class OtlpSink implements EventSink {
  readonly name = "otlp";
  readonly #options: OtlpSinkOptions;
  readonly #client: OtlpClient;

  constructor(options: OtlpSinkOptions) {
    this.#options = options;
    this.#client = new OtlpClient(options.address);
  }

  /** Sends a request without spans, which needs the same path and rights as one with spans. */
  async open(): Promise<void> {
    await this.#client.send(PATH, new Uint8Array());
  }

  async deliver(rows: readonly EventRow[]): Promise<void> {
    const spans = rows.flatMap(({ events }) => spansOf(events));
    for (let from = 0; from < spans.length; from += SPANS_MAX) await this.#send(spans.slice(from, from + SPANS_MAX));
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  async #send(spans: Span[]): Promise<void> {
    const { resource } = this.#options;
    const request = create(ExportTraceServiceRequestSchema, {
      resourceSpans: [{ resource, scopeSpans: [{ scope: SCOPE, spans }] }],
    });
    const answer = await this.#client.send(PATH, toBinary(ExportTraceServiceRequestSchema, request));
    // The protocol forbids to send refused spans again: the receiver would refuse them again.
    if (answer === null) return this.#lost(spans.length, "it refused the request");
    const { rejectedSpans = 0n, errorMessage = "" } = rejectionIn(answer) ?? {};
    if (rejectedSpans > 0n) this.#lost(Number(rejectedSpans), errorMessage);
  }

  #lost(spans: number, reason: string): void {
    const told = { spans, reason: reason.slice(0, 500) };
    this.#options.log.error(told, "otlp: the receiver refused spans for good; they are not sent again");
  }
}

function rejectionIn(answer: Uint8Array) {
  try {
    return fromBinary(ExportTraceServiceResponseSchema, answer).partialSuccess;
  } catch {
    // Some receivers answer 200 with JSON, or with nothing.
    return undefined;
  }
}
