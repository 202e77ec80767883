import { Pool } from "undici";
import { nowMs } from "../clock.ts";
import type { SentRequest } from "./visit.ts";

/** Connections that a browser opens to one server. */
const CONNECTIONS = 6;

/** Requests that a page sends again and again. */
export interface Behaviour {
  /** Length of the record in milliseconds, after which it begins again. */
  lengthMs: number;
  /** Requests in the order of their times, which count from the beginning of the record. */
  requests: readonly SentRequest[];
}

/**
 * Requests of a page to the API within a part of a visit.
 * @throws the page opened a stream, which a replay of requests would leave out
 */
export function behaviourOf(sent: readonly SentRequest[], fromMs: number, lengthMs: number): Behaviour {
  const ofApi = sent.filter(({ path }) => path.startsWith("/v1/"));
  const stream = ofApi.find(({ untilMs, bytes }) => untilMs === Number.POSITIVE_INFINITY && bytes > 0);
  if (stream !== undefined) throw new Error(`the page follows ${stream.path}, and a replay sends requests only`);
  const within = ofApi.filter((request) => request.fromMs >= fromMs && request.fromMs < fromMs + lengthMs);
  const ended = within.filter(({ status }) => status !== 0);
  return { lengthMs, requests: ended.map((request) => ({ ...request, fromMs: request.fromMs - fromMs })) };
}

/**
 * Time at which a client sends a request of the record, in milliseconds from the start of the replay. The clients are spread over the record.
 * A negative time has passed.
 * @param turn number of complete records before. @param share part of the record that the client is ahead, 0 to 1
 */
export function sentAtMs(behaviour: Behaviour, place: number, turn: number, share: number): number {
  const { lengthMs, requests } = behaviour;
  return (requests[place]?.fromMs ?? 0) + (turn - share) * lengthMs;
}

/** Clients that send what a page of the console sent, with its headers and its session. */
export class Replay {
  readonly #behaviour: Behaviour;
  readonly #pools: Pool[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #beganMs = nowMs();
  /** Answers so far, and those with another status than the page got. */
  answers = 0;
  failures = 0;
  #isStopped = false;

  constructor(url: string, behaviour: Behaviour, clients: number) {
    this.#behaviour = behaviour;
    for (let n = 0; n < clients; n++) {
      const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
      this.#pools.push(pool);
      this.#next(pool, 0, 0, n / clients);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#pools.map((pool) => pool.destroy()));
  }

  #next(pool: Pool, place: number, turn: number, share: number): void {
    const { requests } = this.#behaviour;
    const request = requests[place];
    if (request === undefined) return requests.length === 0 ? undefined : this.#next(pool, 0, turn + 1, share);
    const atMs = sentAtMs(this.#behaviour, place, turn, share);
    if (atMs < 0) return this.#next(pool, place + 1, turn, share);
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        void this.#send(pool, request);
        this.#next(pool, place + 1, turn, share);
      },
      Math.max(0, this.#beganMs + atMs - nowMs()),
    );
    this.#timers.add(timer);
  }

  async #send(pool: Pool, { method, path, headers, status }: SentRequest): Promise<void> {
    try {
      const answer = await pool.request({ method: method as "GET", path, headers });
      await answer.body.arrayBuffer();
      this.answers++;
      if (answer.statusCode !== status) this.failures++;
    } catch {
      if (!this.#isStopped) this.failures++;
    }
  }
}
