import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { SinkRefused, SinkUnavailable } from "../../ports/event-sink.ts";
import type { OtlpAddress } from "../../ports/otlp-address.ts";

/** Time limit of a request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Largest part of an answer that is read, in bytes. */
const ANSWER_MAX_BYTES = 64 * 1024;
/** Statuses with which a receiver refuses the content of a request: the protocol forbids to send it again. */
const BAD_CONTENT = [400, 413, 422];
/** Statuses that a person has to resolve, with what to do. */
const REMEDIES: Readonly<Record<number, string>> = {
  401: "correct MAINSPRING_OTLP_HEADERS",
  403: "correct MAINSPRING_OTLP_HEADERS",
  404: "correct MAINSPRING_OTLP: it is the base URL, below which the receiver has this path",
  405: "correct MAINSPRING_OTLP",
  415: "the receiver must take OTLP as http/protobuf with gzip",
};

const zipped = promisify(gzip);

/** Sends requests of OTLP over HTTP. Every failure is SinkRefused or SinkUnavailable, and none has a header's value. */
export class OtlpClient {
  readonly #address: OtlpAddress;
  readonly #timeoutMs: number;
  readonly #ending = new AbortController();

  constructor(address: OtlpAddress, timeoutMs = REQUEST_TIMEOUT_MS) {
    this.#address = address;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Sends one request. It is safe to repeat.
   * @param path `/v1/traces` or `/v1/metrics`
   * @param body a message of protobuf
   * @returns the message of the answer; null: the receiver has refused the content for good
   * @throws {SinkUnavailable} the receiver does not answer, or may take the request later
   * @throws {SinkRefused} the receiver will take nothing until a person changes something
   */
  async send(path: string, body: Uint8Array): Promise<Uint8Array | null> {
    if (this.#ending.signal.aborted) throw closed();
    try {
      return await this.#send(path, body);
    } catch (cause) {
      if (cause instanceof SinkRefused || cause instanceof SinkUnavailable) throw cause;
      if (this.#ending.signal.aborted) throw closed(cause);
      throw new SinkUnavailable(`${this.#name(path)} does not answer: ${causeText(cause)}`, { cause });
    }
  }

  /** Ends all requests: those under way throw SinkUnavailable. */
  close(): void {
    this.#ending.abort();
  }

  async #send(path: string, body: Uint8Array): Promise<Uint8Array | null> {
    const { url, headers } = this.#address;
    const response = await fetch(url + path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/x-protobuf", "content-encoding": "gzip" },
      body: await zipped(body),
      signal: AbortSignal.any([this.#ending.signal, AbortSignal.timeout(this.#timeoutMs)]),
      redirect: "manual",
    });
    const answer = await firstBytes(response);
    if (response.status === 200) return answer;
    if (BAD_CONTENT.includes(response.status)) return null;
    const remedy = REMEDIES[response.status];
    const said = `${this.#name(path)} answered ${response.status}`;
    if (remedy !== undefined) throw new SinkRefused(`${said}: ${remedy}`);
    throw new SinkUnavailable(said);
  }

  #name(path: string): string {
    return `the OTLP receiver at ${this.#address.url}${path}`;
  }
}

function closed(cause?: unknown): SinkUnavailable {
  return new SinkUnavailable("the connection to the OTLP receiver is closed", { cause });
}

/** @returns an empty answer where the receiver sends more than any answer of the protocol has */
async function firstBytes({ body }: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > ANSWER_MAX_BYTES) return new Uint8Array();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The reason of a failed request is in the causes of its error. */
function causeText(error: unknown): string {
  const { cause, message, code, name } = error as Partial<NodeJS.ErrnoException>;
  if (cause !== undefined) return causeText(cause);
  if (name === "TimeoutError") return "the time is up";
  return (message || code || String(error)).split("\n", 1)[0] ?? "";
}
