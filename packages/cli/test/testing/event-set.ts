import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { LifecycleEvent } from "@mainspring/sdk";
import type { TopicMessage } from "./kafka-topic.ts";

/** An event as Kafka has it, without its position among those of the API. */
type Unplaced = Omit<LifecycleEvent, "position">;

/** Events by id, of which only digests are kept, so that a test can compare a million of them. */
export class EventSet {
  readonly #digests = new Map<string, string>();

  get size(): number {
    return this.#digests.size;
  }

  get ids(): string[] {
    return [...this.#digests.keys()].sort();
  }

  has(id: string): boolean {
    return this.#digests.has(id);
  }

  /** Adds an event, unless it is a repeat. @throws {AssertionError} a repeat says something else */
  add(event: LifecycleEvent): void {
    this.#add(Object.fromEntries(Object.entries(event).filter(([name]) => name !== "position")) as Unplaced);
  }

  /** Adds the event of a message. @throws {AssertionError} a repeat says something else, or the headers do */
  addMessage({ value, headers }: TopicMessage): void {
    const event = JSON.parse(value);
    const { id, type, data } = event;
    assert.deepEqual([headers.id, headers.kind, headers.tenant], [id, type, data.tenant]);
    this.#add(event);
  }

  /** @throws {AssertionError} the sets differ */
  assertEqual(others: EventSet): void {
    const missing = others.ids.filter((id) => !this.has(id));
    const strange = this.ids.filter((id) => !others.has(id));
    assert.deepEqual({ missing, strange }, { missing: [], strange: [] });
    const different = this.ids.filter((id) => this.#digests.get(id) !== others.#digests.get(id));
    assert.deepEqual(different, []);
  }

  #add(event: Unplaced): void {
    const digest = digestOf(event);
    assert.equal(this.#digests.get(event.id) ?? digest, digest, `repeats of ${event.id} differ`);
    this.#digests.set(event.id, digest);
  }
}

/** Checks that the rows of each shard come in their order, all in one partition, if repeats are left out. */
export class ShardOrder {
  readonly #seen = new Set<string>();
  readonly #last = new Map<string, { epoch: number; seq: number; partition: number }>();

  /** @throws {AssertionError} the message comes too late, or in another partition */
  check({ key, partition, headers }: TopicMessage): void {
    const [epoch, seq] = [Number(headers.epoch), Number(headers.seq)];
    const id = `${headers.id} ${epoch} ${seq}`;
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    const before = this.#last.get(key) ?? { epoch: 0, seq: 0, partition };
    assert.ok(epoch > before.epoch || (epoch === before.epoch && seq >= before.seq), `shard ${key}`);
    assert.equal(partition, before.partition);
    assert.equal(headers.shard, key);
    this.#last.set(key, { epoch, seq, partition });
  }
}

/** Digest of a JSON value, whatever the order of the fields of its objects. */
function digestOf(value: unknown): string {
  return createHash("sha1").update(JSON.stringify(value, sorted)).digest("base64");
}

function sorted(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
