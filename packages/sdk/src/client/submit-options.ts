import { activeTraceparent } from "../tracing.ts";
import { headerValue } from "./headers.ts";

export interface SubmitOptions {
  /**
   * Name of this submit. A later submit with the same key and the same request creates nothing and gets the first
   * answer again, even after the job has run. A program that is not sure whether its submit arrived, because the
   * program crashed or gave up, repeats the submit with the same key. Default: a new key for each call, so that the
   * client's own retries create one job.
   */
  idempotencyKey?: string;
  /**
   * Trace context by W3C, the value of a header `traceparent`, in whose trace the executions are. Default: that of the active
   * span, if `@opentelemetry/api` is installed and there is one. A job that recurs keeps none. The server ignores a value that
   * is not valid.
   */
  traceparent?: string;
  signal?: AbortSignal;
}

/** Headers of a submit in the caller's trace. */
export function traceHeaders({ traceparent = activeTraceparent() }: SubmitOptions): Readonly<Record<string, string>> {
  return traceparent === undefined ? {} : { traceparent: headerValue("traceparent", traceparent) };
}

/** Divides the options of a submit from the other ones. */
export function partedOptions<Options extends SubmitOptions>(options: Options) {
  const { idempotencyKey, traceparent, signal, ...others } = options;
  const ofSubmit: SubmitOptions = {
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(traceparent !== undefined && { traceparent }),
    ...(signal !== undefined && { signal }),
  };
  return { ofSubmit, others };
}
