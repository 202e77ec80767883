import type { StoreData } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import type { PlannedPart } from "./changes.ts";
import { LogSystem, logTime } from "./sim-log.ts";
import type { SimServer } from "./sim-server.ts";
import { someDefinition } from "./some-definition.ts";
import { TENANT } from "./tenant.ts";

/** Mean interval at which somebody sets a position back, in simulated milliseconds. */
const SEEK_EVERY_MS = 400_000;

/**
 * Programs that submit through the log of requests: by themselves, or over the API of a server. Some records are wrong, some are
 * there twice, and some have keys that others have, too. Now and then somebody has the log read again.
 */
class Producers {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #system: LogSystem;
  readonly #server: () => SimServer | null;
  #made = 0;

  constructor(
    clock: VirtualClock,
    random: SeededRandom,
    history: History,
    system: LogSystem,
    server: () => SimServer | null,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#system = system;
    this.#server = server;
  }

  /** Plans submits within the time. @param only part that remains: all of them end at its time */
  plan(submits: number, withinMs: number, data: StoreData, { untilMs }: PlannedPart): void {
    const until = Math.min(withinMs, untilMs);
    for (let i = 0; i < submits; i++) {
      const atMs = this.#random.next() * withinMs;
      const isForeign = this.#random.chance(0.5);
      const random = this.#random.fork(`submit ${i}`);
      if (atMs < until) this.#clock.plan(atMs, () => this.#submit(random, isForeign));
    }
    for (let atMs = 0; ; ) {
      atMs += this.#random.next() * 2 * SEEK_EVERY_MS;
      if (atMs >= until) break;
      this.#clock.plan(atMs, () => this.#seek(data));
    }
    if (this.#random.chance(0.5)) {
      const atMs = this.#random.next() * withinMs;
      if (atMs < until) this.#clock.plan(atMs, () => this.#system.recreate());
    }
  }

  #submit(random: SeededRandom, isForeign: boolean): void {
    const number = ++this.#made;
    const { job, payload } = someDefinition(random, `record-${number}`, {
      ...(random.chance(0.05) && { uniqueKey: `record-${random.between(1, 5)}` }),
    });
    const text = payload === null ? undefined : (JSON.parse(Buffer.from(payload).toString()) as unknown);
    const wrong = isForeign && random.chance(0.1) && { priority: 11 };
    const key = random.chance(0.1) ? `record-key-${random.between(1, 20)}` : null;
    const body = { ...job, ...(text !== undefined && { payload: text }), ...wrong };
    const value = Buffer.from(isForeign && random.chance(0.02) ? "{" : JSON.stringify(body));
    if (!isForeign) {
      const idempotency = key === null ? null : { tenant: TENANT, key, requestHash: "" };
      const accepted = this.#server()?.accept(TENANT, { job, payload, text: value }, idempotency);
      accepted?.then(
        ({ request }) => this.#history.add({ kind: "LOG_ACCEPTED", request }),
        () => undefined,
      );
      return;
    }
    const headers: Record<string, string> = { ...(key !== null && { "idempotency-key": key }) };
    const at = logTime(this.#clock);
    const isTwice = random.chance(0.1);
    if (isTwice) headers["mainspring-job-id"] = idAt(at, number);
    for (let n = 0; n < (isTwice ? 2 : 1); n++) {
      const partition = random.between(0, this.#system.partitions - 1);
      this.#system.append({ partition, value, headers, at });
    }
  }

  /** Sets a position back, as POST /v1/ingest/seek does. */
  #seek(data: StoreData): void {
    for (const { partition, topic, next } of data.ingest.positions()) {
      const move = { partition, topic, from: next, to: this.#random.between(0, next) };
      if (data.ingest.rewind(move)) data.tell({ kind: "INGEST_REWOUND", at: data.now(), ...move });
    }
  }
}

function idAt(at: number, number: number): string {
  const time = at.toString(16).padStart(12, "0");
  const place = number.toString(16).padStart(6, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place.slice(0, 3)}-8${place.slice(3)}-0d0d0d0d0d0d`;
}

/** Creates the log of a world, and plans the submits of its producers. */
export function beginLog(
  clock: VirtualClock,
  random: SeededRandom,
  history: History,
  server: () => SimServer | null,
  { submits, withinMs, data, only }: { submits: number; withinMs: number; data: StoreData; only: PlannedPart },
): LogSystem {
  const log = new LogSystem(clock, random.fork("log"), history);
  new Producers(clock, random.fork("producers"), history, log, server).plan(submits, withinMs, data, only);
  return log;
}
