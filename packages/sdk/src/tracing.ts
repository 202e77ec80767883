import { createRequire } from "node:module";
import type * as OtelApi from "@opentelemetry/api";

/** The part of `@opentelemetry/api` that the SDK uses. A program without the package has no such module. */
type Api = Pick<typeof OtelApi, "context" | "isSpanContextValid" | "trace">;

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** null: the package is not installed; undefined: nobody has needed it yet. */
let loaded: Api | null | undefined;

/** Loads the package at its first use, at once: the context of a caller is gone after a wait. */
function api(): Api | null {
  if (loaded !== undefined) return loaded;
  try {
    // All copies of the package share their state, whichever of them this is.
    loaded = createRequire(import.meta.url)("@opentelemetry/api") as Api;
  } catch {
    loaded = null;
  }
  return loaded;
}

/**
 * Traceparent by W3C of the span in whose context the caller runs.
 * @returns undefined: there is none, or `@opentelemetry/api` is not installed
 */
export function activeTraceparent(): string | undefined {
  const otel = api();
  const span = otel?.trace.getSpanContext(otel.context.active());
  if (span === undefined || otel?.isSpanContextValid(span) !== true) return undefined;
  return `00-${span.traceId}-${span.spanId}-${(span.traceFlags & 1) === 1 ? "01" : "00"}`;
}

/**
 * Runs a function in the context of a span of another process, so that spans that the function starts are parts of that span.
 * @param traceparent undefined or null: runs it in the present context
 */
export function withinTrace<T>(traceparent: string | null | undefined, run: () => T): T {
  if (traceparent === undefined || traceparent === null) return run();
  const otel = api();
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (otel === null || traceId === undefined || spanId === undefined) return run();
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags ?? "00", 16), isRemote: true };
  const context = otel.trace.setSpanContext(otel.context.active(), span);
  return otel.context.with(context, run);
}
