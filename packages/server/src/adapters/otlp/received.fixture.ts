/** A span as a receiver shows it in the JSON of OTLP. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** Empty: the first span of its trace. */
  parentSpanId: string;
  name: string;
  /** Execution of the span. */
  id: string;
  /** null: the span is that of the execution as a whole. */
  attempt: number | null;
  /** Type of the error; null: none. */
  error: string | null;
  from: bigint;
  to: bigint;
  attributes: Readonly<Record<string, string | number>>;
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: string | number };
}

interface JsonSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: readonly Attribute[];
}

interface JsonRequest {
  resourceSpans?: readonly { scopeSpans: readonly { spans: readonly JsonSpan[] }[] }[];
}

/** Spans of requests in the JSON of OTLP. */
export function spansIn(requests: readonly unknown[]): ReceivedSpan[] {
  return (requests as readonly JsonRequest[])
    .flatMap(({ resourceSpans = [] }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans.map(received));
}

function received(span: JsonSpan): ReceivedSpan {
  const { traceId, spanId, parentSpanId = "", name, startTimeUnixNano, endTimeUnixNano } = span;
  const attributes = Object.fromEntries(
    span.attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  );
  const { "mainspring.attempt": attempt, "error.type": error } = attributes;
  return {
    ...{ traceId, spanId, parentSpanId, name, attributes },
    id: String(attributes["messaging.message.id"]),
    attempt: attempt === undefined ? null : Number(attempt),
    error: error === undefined ? null : String(error),
    from: BigInt(startTimeUnixNano),
    to: BigInt(endTimeUnixNano),
  };
}
