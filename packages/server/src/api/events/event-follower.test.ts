import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import type { LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import type { EventPosition } from "../../ports/store-events.ts";
import { Turns } from "../../ports/turns.ts";
import { EventFeed } from "./event-feed.ts";
import { EventFollower, type FollowerStream } from "./event-follower.ts";
import { eventOf, MemoryEvents } from "./events.fixture.ts";
import { decodePosition } from "./position-token.ts";

/** A client that reads when the test says so. */
class Client implements FollowerStream {
  isOpen = true;
  lines = "";
  isSlow = false;
  #read: (() => void) | null = null;

  sendLines(lines: string): void {
    this.lines += lines;
  }

  async drained(): Promise<void> {
    if (this.isSlow) await new Promise<void>((resolve) => (this.#read = resolve));
  }

  readOn(): void {
    this.isSlow = false;
    this.#read?.();
  }

  get ids(): string[] {
    return Array.from(this.lines.matchAll(/^data: (.*)$/gm), ([, json = "{}"]) => JSON.parse(json).id);
  }

  get tokens(): string[] {
    return Array.from(this.lines.matchAll(/^id: (.*)$/gm), ([, token = ""]) => token);
  }
}

class Scene {
  readonly runtime: ManualRuntime;
  readonly events = new MemoryEvents();
  readonly turns: Turns;
  readonly feed: EventFeed;
  readonly gone = new AbortController();
  readonly #seqs = new Map<number, number>();
  #count = 0;

  constructor(logEventsMax = 1_000, runtime = new ManualRuntime()) {
    this.runtime = runtime;
    this.turns = new Turns(runtime);
    const { events, turns } = this;
    this.feed = new EventFeed({ events, runtime, turns, log: pino({ level: "silent" }), logEventsMax });
  }

  /** Writes a row with so many events. @returns their ids */
  write(shard: number, count = 1, fields: Partial<LifecycleEvent> = {}, epoch = 1): string[] {
    const events = Array.from({ length: count }, () => eventOf(this.#count++, fields));
    const seq = (this.#seqs.get(shard) ?? 0) + 3;
    this.#seqs.set(shard, seq);
    this.events.write({ shard, epoch, seq, events });
    return events.map(({ executionId, attempt, kind }) => `${executionId}/${attempt}/${kind}`);
  }

  follow(
    position: EventPosition,
    isWanted: (event: LifecycleEvent) => boolean = () => true,
    until?: EventPosition,
    first: [] | null = null,
  ) {
    const { feed, turns } = this;
    const client = new Client();
    const follower = new EventFollower({ feed, turns, isWanted, until: until ?? null }, position, first);
    const leave = feed.enter();
    const ended = follower.run(client, this.gone.signal).finally(leave);
    return { client, follower, ended };
  }

  async stop(...all: { ended: Promise<void> }[]): Promise<void> {
    this.gone.abort();
    await this.runtime.advance(1_000);
    await Promise.all(all.map(({ ended }) => ended));
  }
}

const NONE: EventPosition = new Map();

describe("a follower of events", () => {
  it("gets the rows of the store and then those of the node's memory, each once", async () => {
    const scene = new Scene();
    const past = [...scene.write(1, 2), ...scene.write(2)];
    const late = scene.follow(NONE);
    const live = scene.follow(await scene.events.newest());
    await scene.runtime.advance(500);
    assert.deepEqual([late.client.ids, live.client.ids], [past, []]);
    const next = [...scene.write(2, 3), ...scene.write(1)];
    const { reads } = scene.events;
    await scene.runtime.advance(500);
    assert.deepEqual([late.client.ids, live.client.ids], [[...past, ...next], next]);
    assert.equal(scene.events.reads, reads + 1, "one read for both");
    // A row of several events has one position, at its last event.
    assert.equal(live.client.tokens.length, 3);
    assert.match(
      live.client.lines,
      /^id: \S+\n\n(event: JobCompleted\ndata: \{.*\}\n\n){2}event: \w+\ndata: \{.*\}\nid: /,
    );
    await scene.stop(late, live);
    const afterwards = scene.events.reads;
    await scene.runtime.advance(10_000);
    assert.equal(scene.events.reads, afterwards, "nobody follows, so nothing is read");
  });

  it("goes on behind any position that it was told, without a gap", async () => {
    const scene = new Scene();
    const all = [...scene.write(1, 2), ...scene.write(2, 1), ...scene.write(1, 3), ...scene.write(3, 1)];
    const first = scene.follow(NONE);
    await scene.runtime.advance(500);
    const { tokens } = first.client;
    assert.equal(tokens.length, 5, "the position of the start, and one a row");
    for (const [index, left] of [7, 5, 4, 1, 0].entries()) {
      const again = scene.follow(decodePosition(tokens[index] ?? ""));
      await scene.runtime.advance(500);
      assert.deepEqual(again.client.ids, all.slice(all.length - left));
    }
    await scene.stop(first);
  });

  it("reads again where a page was empty before the node read rows", async () => {
    const scene = new Scene();
    const other = scene.follow(NONE);
    await scene.runtime.advance(500);
    const missed = scene.write(1);
    await scene.runtime.advance(500);
    const one = scene.follow(NONE, () => true, undefined, []);
    await scene.runtime.advance(500);
    assert.deepEqual(one.client.ids, missed);
    await scene.stop(one, other);
  });

  it("reads pages until it meets the node's rows", async () => {
    const scene = new Scene();
    scene.events.pageRows = 2;
    const all = [1, 2, 3, 4, 5].flatMap((shard) => scene.write(shard));
    const other = scene.follow(await scene.events.newest());
    await scene.runtime.advance(500);
    const one = scene.follow(NONE);
    await scene.runtime.advance(500);
    assert.deepEqual(one.client.ids, all);
    await scene.stop(one, other);
  });

  it("ends at its end, although it meets the node's rows before", async () => {
    const scene = new Scene();
    scene.events.pageRows = 1;
    const all = scene.write(1);
    const other = scene.follow(await scene.events.newest());
    await scene.runtime.advance(500);
    all.push(...scene.write(2));
    const ending = scene.follow(NONE, () => true, await scene.events.newest());
    await scene.runtime.advance(1_000);
    assert.match(ending.client.lines, /event: end\n/);
    assert.deepEqual(ending.client.ids.filter(Boolean), all);
    await scene.stop(ending, other);
  });

  it("is told no position that goes back where it was ahead of the node", async () => {
    const scene = new Scene();
    scene.events.isDescending = true;
    const other = scene.follow(NONE);
    await scene.runtime.advance(500);
    const all = scene.write(1);
    const one = scene.follow(NONE);
    await settled();
    assert.deepEqual(one.client.ids, all, "it has read what the node has not");
    all.push(...scene.write(2));
    await scene.runtime.advance(500);
    all.push(...scene.write(1));
    await scene.runtime.advance(500);
    assert.deepEqual(one.client.ids, all);
    assertRising(one.client.tokens.map(decodePosition));
    await scene.stop(one, other);
  });

  it("hears soon of rows that an owner hints at", async () => {
    const scene = new Scene();
    const one = scene.follow(NONE);
    await scene.runtime.advance(100);
    const written = scene.write(4);
    scene.feed.hint();
    scene.feed.hint();
    await scene.runtime.advance(50);
    assert.deepEqual(one.client.ids, written);
    await scene.stop(one);
  });

  it("is told positions behind events that it does not want", async () => {
    const scene = new Scene();
    const one = scene.follow(NONE, ({ pool }) => pool === "mail");
    await scene.runtime.advance(500);
    assert.equal(one.follower.progress(), "");
    scene.write(1, 2, { pool: "other" });
    await scene.runtime.advance(500);
    assert.equal(one.client.ids.length, 0);
    const [, token = ""] = /^id: (\S+)\n\n$/.exec(one.follower.progress()) ?? [];
    assert.deepEqual(decodePosition(token), await scene.events.newest());
    assert.equal(one.follower.progress(), "");
    await scene.stop(one);
  });

  it("reads the store by itself where it was too slow for the node's memory", async () => {
    const scene = new Scene(5);
    const slow = scene.follow(NONE);
    const fast = scene.follow(NONE);
    const all = scene.write(1);
    await scene.runtime.advance(500);
    slow.client.isSlow = true;
    for (let turn = 0; turn < 4; turn++) {
      all.push(...scene.write(turn % 2, 3));
      await scene.runtime.advance(500);
    }
    assert.deepEqual([slow.client.ids.length, fast.client.ids.length], [4, all.length]);
    slow.client.readOn();
    await scene.runtime.advance(500);
    assert.deepEqual([slow.client.ids, fast.client.ids], [all, all]);
    await scene.stop(slow, fast);
  });

  it("ends where the store no longer has its rows, and at the end that it was given", async () => {
    const scene = new Scene();
    scene.write(1);
    scene.events.removeAll();
    const lost = scene.follow(NONE);
    await scene.runtime.advance(500);
    await lost.ended;
    assert.deepEqual(lost.client.ids, []);
    const kept = scene.write(2, 2);
    const end = await scene.events.newest();
    const ending = scene.follow(await scene.events.oldest(), () => true, end);
    await scene.runtime.advance(500);
    await ending.ended;
    assert.deepEqual(ending.client.ids.slice(0, 2), kept);
    assert.match(ending.client.lines, /event: end\nid: \S+\ndata: \{\}\n\n$/);
  });

  it("outlives an outage of the store that it need not ask", async () => {
    const scene = new Scene();
    const one = scene.follow(NONE);
    await scene.runtime.advance(500);
    scene.events.outage = new Error("the store is away");
    const written = scene.write(1);
    await scene.runtime.advance(2_000);
    scene.events.outage = null;
    await scene.runtime.advance(500);
    assert.deepEqual(one.client.ids, written);
    await scene.stop(one);
  });

  it("leaves the event loop after some milliseconds of a large row", async () => {
    class Ticking extends ManualRuntime {
      #ticks = 0;
      override monotonicMs(): number {
        return super.monotonicMs() + this.#ticks++;
      }
    }
    const scene = new Scene(1_000, new Ticking());
    const all = scene.write(1, 200);
    let looks = 0;
    const one = scene.follow(NONE, () => looks++ >= 0);
    await settled();
    assert.ok(looks > 0 && looks < 10, `${looks} events in one turn`);
    await scene.runtime.advance(500);
    assert.deepEqual(one.client.ids, all);
    await scene.stop(one);
  });

  for (let seed = 1; seed <= 12; seed++) {
    it(`gets every row in the order of its shard, whatever happens (seed ${seed})`, async () => {
      let state = seed;
      const below = (bound: number) => {
        state = (state * 48_271) % 2_147_483_647;
        return state % bound;
      };
      const scene = new Scene(8);
      scene.events.pageRows = 4;
      const written = new Map<number, string[]>();
      const followers = [scene.follow(NONE)];
      for (let step = 0; step < 120; step++) {
        const shard = below(5);
        const ids = scene.write(shard, 1 + below(4), { pool: `p${shard}` }, 1 + Math.floor(step / 40));
        written.set(shard, [...(written.get(shard) ?? []), ...ids]);
        const { client } = followers[below(followers.length)] ?? assert.fail();
        if (below(3) === 0) client.isSlow = true;
        else client.readOn();
        const tokens = client.tokens;
        if (below(20) === 0) followers.push(scene.follow(decodePosition(tokens[below(tokens.length)] ?? "")));
        if (below(2) === 0) scene.feed.hint();
        await scene.runtime.advance(below(200));
      }
      for (const { client } of followers) client.readOn();
      await scene.runtime.advance(1_000);
      for (const { client } of followers) {
        for (const [shard, all] of written) {
          const got = client.ids.filter((id) => all.includes(id));
          assert.deepEqual(got, all.slice(all.length - got.length), `shard ${shard}`);
        }
        assertRising(client.tokens.map(decodePosition));
      }
      const [first] = followers;
      assert.equal(first?.client.ids.length, [...written.values()].flat().length);
      await scene.stop(...followers);
    });
  }
});

function assertRising(positions: readonly EventPosition[]): void {
  for (const [index, position] of positions.entries()) {
    for (const [shard, { epoch, seq }] of positions[index - 1] ?? []) {
      const now = position.get(shard);
      assert.ok(now !== undefined && (now.epoch > epoch || (now.epoch === epoch && now.seq >= seq)), `shard ${shard}`);
    }
  }
}
