import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ATTEMPT_LOG_BYTES_MAX, ATTEMPT_LOG_LINES_MAX } from "@mainspring/contract/limits";
import { pino } from "pino";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { LogPart } from "../../ports/store-logs.ts";
import { LOG_LINE_MAX_CHARS, LOGS_ALL_MAX_BYTES, LOGS_WRITE_MAX_PARTS } from "../limits.ts";
import { LogKeeper, logsOf } from "./log-keeper.ts";

const id = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, "0")}`;

function scene() {
  const runtime = new ManualRuntime();
  const logged: string[] = [];
  const writes: LogPart[][] = [];
  const store = { isAway: false, refuses: false, hold: null as Promise<void> | null };
  const keep = async (parts: readonly LogPart[]) => {
    if (store.isAway) throw new StoreUnavailable("away");
    if (store.refuses) throw new Error("refused");
    await store.hold;
    writes.push([...parts]);
  };
  const keeper = new LogKeeper({
    store: { logs: { keep, read: async () => [] } },
    runtime,
    log: pino({ level: "info" }, { write: (line) => void logged.push(line) }),
  });
  const say = (n: number, line: string, attempt = 1) => {
    keeper.add({ kind: "LOG", executionId: id(n), attempt, at: runtime.now(), level: "info", line }, "w1");
  };
  const close = (n: number, attempt = 1) => keeper.close({ executionId: id(n), attempt });
  return { runtime, store, writes, logged, keeper, say, close };
}

/** Texts of the last state of each part that was written. */
function written(writes: readonly LogPart[][]): Record<string, string[]> {
  return Object.fromEntries(
    writes
      .flat()
      .map(({ executionId, attempt, lines }) => [
        `${Number(executionId.slice(-6))}/${attempt}`,
        lines.map(({ line }) => line),
      ]),
  );
}

describe("the keeper of log lines", () => {
  it("writes the lines of attempts that have ended after a second, all in one write", async () => {
    const { runtime, writes, keeper, say, close } = scene();
    say(1, "a");
    say(1, "b");
    say(1, "second attempt", 2);
    say(2, "c");
    close(1);
    close(1, 2);
    close(2);
    assert.deepEqual(writes, []);
    await runtime.advance(1_000);
    assert.equal(writes.length, 1);
    assert.deepEqual(written(writes), { "1/1": ["a", "b"], "1/2": ["second attempt"], "2/1": ["c"] });
    assert.equal(keeper.partOf(id(1), 1), null);
    await runtime.advance(60_000);
    assert.equal(writes.length, 1);
  });

  it("writes the lines of a running attempt every five seconds, and not again without new ones", async () => {
    const { runtime, writes, say, close } = scene();
    say(1, "a");
    await runtime.advance(4_000);
    assert.deepEqual(writes, []);
    say(1, "b");
    await runtime.advance(2_000);
    assert.deepEqual(written(writes), { "1/1": ["a", "b"] });
    await runtime.advance(60_000);
    close(1);
    await runtime.advance(60_000);
    assert.equal(writes.length, 1);
  });

  it("sets no timer and writes nothing while no handler logs anything", async () => {
    const { runtime, writes, keeper, close } = scene();
    let timers = 0;
    const setTimer = runtime.setTimer.bind(runtime);
    runtime.setTimer = (...asked) => {
      timers++;
      return setTimer(...asked);
    };
    for (let n = 0; n < 1_000; n++) close(n);
    keeper.prune(() => false);
    await runtime.advance(60_000);
    assert.deepEqual([timers, writes], [0, []]);
  });

  it("keeps the last 64 KiB of an attempt in whole lines, counted in bytes of UTF-8", async () => {
    const { keeper, say } = scene();
    const line = "漢".repeat(LOG_LINE_MAX_CHARS / 4);
    const fits = Math.floor(ATTEMPT_LOG_BYTES_MAX / Buffer.byteLength(line));
    for (let n = 0; n < fits; n++) say(1, line);
    assert.equal(keeper.partOf(id(1), 1)?.lines.length, fits);
    say(1, "é".repeat((ATTEMPT_LOG_BYTES_MAX - fits * Buffer.byteLength(line)) / 2));
    assert.equal(keeper.partOf(id(1), 1)?.lines.length, fits + 1);
    say(1, "x");
    const { lines = [], received } = keeper.partOf(id(1), 1) ?? {};
    assert.deepEqual([lines.length, received, lines.at(-1)?.line], [fits + 1, fits + 2, "x"]);
  });

  it("keeps so many lines of an attempt, however short they are", () => {
    const { keeper, say } = scene();
    for (let n = 0; n < ATTEMPT_LOG_LINES_MAX + 10; n++) say(1, "");
    const { lines = [], received } = keeper.partOf(id(1), 1) ?? {};
    assert.deepEqual([lines.length, received], [ATTEMPT_LOG_LINES_MAX, ATTEMPT_LOG_LINES_MAX + 10]);
  });

  it("begins a further part for lines that come after the end of their attempt was written", async () => {
    const { runtime, writes, say, close } = scene();
    say(1, "a");
    close(1);
    say(1, "b");
    await runtime.advance(1_000);
    say(1, "late");
    await runtime.advance(6_000);
    const [first, second] = writes.flat();
    assert.deepEqual([first?.lines.length, second?.lines.length, second?.received], [2, 1, 1]);
    assert.ok((first?.part ?? 0) < (second?.part ?? 0));
  });

  it("writes lines that come during a write with the next one, under the same number", async () => {
    const { runtime, store, writes, say, close } = scene();
    let release = () => {};
    store.hold = new Promise((resolve) => {
      release = resolve;
    });
    say(1, "a");
    close(1);
    await runtime.advance(1_000);
    say(1, "b");
    release();
    await settled();
    await runtime.advance(1_000);
    const [first, second] = writes.flat();
    assert.deepEqual([first?.received, second?.received, second?.part], [1, 2, first?.part]);
  });

  it("closes the lines of attempts that their worker does not have any more", async () => {
    const { runtime, keeper, say } = scene();
    say(1, "a");
    say(2, "b");
    await runtime.advance(6_000);
    keeper.prune((workerId, { executionId }) => workerId === "w1" && executionId === id(2));
    assert.deepEqual([keeper.partOf(id(1), 1), keeper.partOf(id(2), 1)?.received], [null, 1]);
  });

  it("writes the lines of running attempts at once when the gateway drains, and when it stops", async () => {
    const { runtime, writes, keeper, say } = scene();
    say(1, "a");
    keeper.flush();
    await runtime.advance(0);
    assert.deepEqual(written(writes), { "1/1": ["a"] });
    say(1, "b");
    await keeper.stop();
    assert.deepEqual(written(writes), { "1/1": ["a", "b"] });
    say(1, "c");
    await runtime.advance(60_000);
    assert.equal(writes.length, 2);
  });

  it("ends with its node in time although the store hangs", async () => {
    const { runtime, store, logged, keeper, say } = scene();
    store.hold = new Promise(() => {});
    say(1, "a");
    say(2, "b");
    const stopped = keeper.stop();
    say(1, "c");
    await runtime.advance(5_000);
    await stopped;
    assert.equal(logged.length, 0, "the write of both is under way");
  });

  it("tries again where the store is away, and loses nothing that its memory holds", async () => {
    const { runtime, store, writes, logged, say, close } = scene();
    store.isAway = true;
    for (let n = 0; n < 3; n++) {
      say(n, "a");
      close(n);
    }
    await runtime.advance(60_000);
    assert.ok(logged.length > 0 && logged.length <= 7, `${logged.length} lines in a minute`);
    store.isAway = false;
    await runtime.advance(5_000);
    assert.deepEqual(written(writes), { "0/1": ["a"], "1/1": ["a"], "2/1": ["a"] });
  });

  it("drops the oldest lines that are not written where its memory is full, and counts them", async () => {
    const { runtime, store, writes, logged, keeper, say, close } = scene();
    store.isAway = true;
    const line = "x".repeat(LOG_LINE_MAX_CHARS);
    const attempts = Math.ceil(LOGS_ALL_MAX_BYTES / ATTEMPT_LOG_BYTES_MAX) + 10;
    for (let n = 0; n < attempts; n++) {
      for (let count = 0; count < 8; count++) say(n, line);
      close(n);
      if (n === 20) await runtime.advance(1_000);
    }
    const kept = (n: number) => keeper.partOf(id(n), 1) !== null;
    assert.deepEqual([kept(0), kept(60), kept(attempts - 1)], [false, true, true]);
    assert.ok(keeper.dropped >= 80 && keeper.dropped < 400, `${keeper.dropped}`);
    assert.equal(logged.filter((text) => text.includes("too slowly")).length, 1);
    store.isAway = false;
    for (let second = 0; second < 60 && kept(attempts - 1); second++) await runtime.advance(1_000);
    assert.equal(Object.keys(written(writes)).length * 8 + keeper.dropped, attempts * 8);
  });

  it("forgets written lines before it drops others", async () => {
    const { runtime, keeper, say } = scene();
    const line = "x".repeat(LOG_LINE_MAX_CHARS);
    for (let count = 0; count < 8; count++) say(0, line);
    await runtime.advance(6_000);
    for (let n = 1; keeper.partOf(id(0), 1) !== null; n++) for (let count = 0; count < 8; count++) say(n, line);
    assert.equal(keeper.dropped, 0);
  });

  it("drops what the store refuses for good, and writes everything else", async () => {
    const { runtime, store, writes, keeper, say, close } = scene();
    store.refuses = true;
    say(1, "a");
    close(1);
    await runtime.advance(1_000);
    store.refuses = false;
    say(2, "b");
    close(2);
    say(3, "no store can name this attempt", 2 ** 31);
    close(3, 2 ** 31);
    await runtime.advance(1_000);
    assert.deepEqual([written(writes), keeper.dropped], [{ "2/1": ["b"] }, 1]);
  });

  it("is there only where no other system keeps the lines, stops with its node, and shows what it drops", async () => {
    const ends: string[] = [];
    const readings: (() => object)[] = [];
    const node = (logUrl: string | null) => ({
      config: { logUrl },
      life: { started: (name: string) => void ends.push(name) },
      metrics: { watch: (read: () => object) => void readings.push(read) },
      ...{ runtime: new ManualRuntime(), log: pino({ level: "silent" }) },
    });
    const store = { logs: { keep: async () => undefined, read: async () => [] } };
    assert.deepEqual(logsOf(node("https://logs.example/{executionId}"), store), {});
    assert.deepEqual(ends, []);
    assert.ok(logsOf(node(null), store).logs instanceof LogKeeper);
    assert.deepEqual([ends, readings.map((read) => read())], [["log lines"], [{ logLinesDropped: 0 }]]);
  });

  it("splits what it writes", async () => {
    const { runtime, writes, say, close } = scene();
    for (let n = 0; n < LOGS_WRITE_MAX_PARTS + 1; n++) {
      say(n, "a");
      close(n);
    }
    for (let count = 0; count < 8; count++) say(0, "x".repeat(LOG_LINE_MAX_CHARS));
    await runtime.advance(1_000);
    assert.deepEqual(
      writes.map((parts) => parts.length).reduce((sum, length) => sum + length),
      LOGS_WRITE_MAX_PARTS + 1,
    );
    assert.ok(writes.length >= 2);
  });
});
