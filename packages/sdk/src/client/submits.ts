import { MainspringError } from "../errors.ts";
import { defer, type Runtime } from "../runtime.ts";
import type { BatchItem, SubmittedJob } from "./api-types.ts";
import { headerValue } from "./headers.ts";
import { type Http, jsonOf } from "./http.ts";
import { errorOfProblem } from "./problem.ts";
import { type SubmitOptions, traceHeaders } from "./submit-options.ts";

/** Largest number of jobs in one request. */
const BATCH_JOBS = 100;
/** Largest number of characters of JSON in one request; a single job may have more. */
const BATCH_CHARS = 512 * 1024;
/**
 * Time until the client again tries a batch with a key for each job, after a server that does not know such keys, in
 * milliseconds. The server may have been upgraded meanwhile.
 */
const ALONE_FOR_MS = 60_000;
/** Codes of errors that apply to the whole request, so that each job alone would fail with the same error. */
const SHARED: readonly string[] = ["UNAVAILABLE", "UNAUTHENTICATED", "FORBIDDEN", "TOO_MANY_REQUESTS"];

interface Waiting {
  /** The job as JSON. */
  text: string;
  key: string;
  /** Whether the caller gave the key. */
  isNamed: boolean;
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal | undefined;
  resolve(submitted: SubmittedJob): void;
  reject(error: unknown): void;
}

/**
 * Sends the submits of one turn of the event loop as one batch, so that concurrent callers cost one request. Each
 * submit keeps its own idempotency key, error and signal, as if it were a request of its own.
 */
export class Submits {
  readonly #http: Pick<Http, "send">;
  readonly #runtime: Runtime;
  #queue: Waiting[] = [];
  #aloneUntilMs = 0;

  constructor(http: Pick<Http, "send">, runtime: Runtime) {
    this.#http = http;
    this.#runtime = runtime;
  }

  /**
   * @throws {MainspringError} the same errors as the submit of a single job; the signal's reason if the signal ends the
   * wait
   */
  async submit(job: unknown, options: SubmitOptions): Promise<SubmittedJob> {
    const { idempotencyKey, signal } = options;
    const headers = traceHeaders(options);
    const text = jsonOf(job) as string;
    const key = headerValue("idempotencyKey", idempotencyKey ?? this.#runtime.uuid());
    const isNamed = idempotencyKey !== undefined;
    signal?.throwIfAborted();
    return await new Promise((resolve, reject) => {
      this.#queue.push({ text, key, isNamed, headers, signal, resolve, reject });
      if (this.#queue.length === 1) defer(this.#runtime, () => this.#flush());
    });
  }

  /** Submits jobs in one request. @throws {MainspringError} the whole request is refused */
  async batch<T>(jobs: readonly unknown[], options: SubmitOptions): Promise<T[]> {
    const { idempotencyKey = this.#runtime.uuid(), signal } = options;
    const request = { method: "POST", path: "/v1/jobs/batch", body: { jobs }, headers: traceHeaders(options) } as const;
    const { body } = await this.#http.send({ ...request, idempotent: false, idempotencyKey, signal });
    return (body as { items: T[] }).items;
  }

  #flush(): void {
    const waiting = this.#queue;
    this.#queue = [];
    for (const batch of this.#batchesOf(waiting)) {
      const [first] = batch;
      if (batch.length === 1) this.#alone(first as Waiting);
      else void this.#together(batch);
    }
  }

  #batchesOf(waiting: readonly Waiting[]): Waiting[][] {
    if (this.#runtime.monotonicMs() < this.#aloneUntilMs) return waiting.map((one) => [one]);
    const batches: Waiting[][] = [];
    let chars = 0;
    for (const one of sharingTraces(waiting)) {
      chars += one.text.length;
      const batch = batches.at(-1);
      const isOther = batch?.[0]?.headers.traceparent !== one.headers.traceparent;
      if (batch === undefined || isOther || batch.length === BATCH_JOBS || chars > BATCH_CHARS) {
        batches.push([one]);
        chars = one.text.length;
      } else batch.push(one);
    }
    return batches;
  }

  #alone({ text, key, headers, signal, resolve, reject }: Waiting): void {
    this.#http
      .send({ method: "POST", path: "/v1/jobs", text, headers, idempotent: false, idempotencyKey: key, signal })
      .then(({ body }) => resolve(submitted(body as SubmittedJob)), reject);
  }

  async #together(batch: readonly Waiting[]): Promise<void> {
    const still = new Still(batch);
    // A key for each job costs the store a row each; where no caller gave one, a key for the batch makes its repeats safe.
    const isNamed = batch.some((one) => one.isNamed);
    try {
      const { body } = await this.#http.send({
        method: "POST",
        path: "/v1/jobs/batch",
        text: batchText(batch, isNamed),
        headers: batch[0]?.headers ?? {},
        idempotent: true,
        idempotencyKey: isNamed ? undefined : batch[0]?.key,
        signal: still.signal,
      });
      const { items } = body as { items: BatchItem[] };
      const waiting = still.end();
      for (const [index, one] of batch.entries()) if (waiting.has(one)) this.#settle(one, items[index]);
    } catch (error) {
      this.#failed(still.end(), error, isNamed);
    }
  }

  /**
   * A job whose item has no reason, or a reason that may pass, is sent again alone, because the answer to a single job
   * has the reason and can be retried.
   */
  #settle(one: Waiting, item: BatchItem | undefined): void {
    if (item === undefined) this.#alone(one);
    else if (!("error" in item)) one.resolve(submitted(item));
    else if (item.error.detail === undefined || item.error.status >= 429) this.#alone(one);
    else one.reject(errorOfProblem(item.error));
  }

  /** Jobs of a batch that was refused leave alone, so that each has its own error; not where the batch may have taken effect. */
  #failed(batch: Iterable<Waiting>, error: unknown, isNamed: boolean): void {
    const isShared = !(error instanceof MainspringError) || SHARED.includes(error.code);
    if (isShared || (error.code === "INTERNAL" && !isNamed) || error.code === "UNEXPECTED_ANSWER") {
      for (const { reject } of batch) reject(error);
      return;
    }
    if (error.errors.some(({ field }) => field === "idempotencyKeys")) {
      this.#aloneUntilMs = this.#runtime.monotonicMs() + ALONE_FOR_MS;
    }
    for (const one of batch) this.#alone(one);
  }
}

/** The answer about a job that is only accepted names no state of the job. */
function submitted(item: SubmittedJob): SubmittedJob {
  return item.state === undefined ? { ...item, state: "ACTIVE" } : item;
}

/** The submits, those of one trace together, because a request has one traceparent for all of its jobs. */
function sharingTraces(waiting: readonly Waiting[]): readonly Waiting[] {
  const first = waiting[0]?.headers.traceparent;
  if (waiting.every(({ headers }) => headers.traceparent === first)) return waiting;
  const traces = new Map<string | undefined, Waiting[]>();
  for (const one of waiting) {
    const { traceparent } = one.headers;
    const trace = traces.get(traceparent);
    if (trace === undefined) traces.set(traceparent, [one]);
    else trace.push(one);
  }
  return [...traces.values()].flat();
}

function batchText(batch: readonly Waiting[], isNamed: boolean): string {
  const jobs = batch.map(({ text }) => text).join(",");
  if (!isNamed) return `{"jobs":[${jobs}]}`;
  return `{"jobs":[${jobs}],"idempotencyKeys":${JSON.stringify(batch.map(({ key }) => key))}}`;
}

/** The submits of a request whose callers still wait for the answer. */
class Still {
  readonly #waiting: Set<Waiting>;
  readonly #abort = new AbortController();
  readonly #unhear: (() => void)[] = [];

  constructor(batch: readonly Waiting[]) {
    this.#waiting = new Set(batch);
    for (const one of batch) this.#hear(one, one.signal);
  }

  /** Signal of the request, aborted when no caller waits any more. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Stops listening to the callers' signals. @returns the submits whose callers still wait */
  end(): ReadonlySet<Waiting> {
    for (const unhear of this.#unhear) unhear();
    return this.#waiting;
  }

  #hear(one: Waiting, signal: AbortSignal | undefined): void {
    if (signal === undefined) return;
    const left = () => {
      this.#waiting.delete(one);
      one.reject(signal.reason);
      if (this.#waiting.size === 0) this.#abort.abort();
    };
    if (signal.aborted) return left();
    signal.addEventListener("abort", left);
    this.#unhear.push(() => signal.removeEventListener("abort", left));
  }
}
