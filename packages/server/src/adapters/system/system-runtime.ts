import { randomFillSync } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Runtime, Timer } from "../../ports/runtime.ts";

/** Clock, timers and randomness of the platform. Only this file of the server uses them. */
export function systemRuntime(): Runtime {
  return {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    setTimer: startTimer,
    random: () => Math.random(),
    uuid: uuidSource(() => Date.now()),
    defer: (run) => void setImmediate(run),
  };
}

/** Interval in milliseconds in which the delay of the event loop is measured. */
const DELAY_EVERY_MS = 20;

/**
 * Measures how late the event loop is. `takeSec`: the 99th percentile in seconds since the last call; null: nothing was
 * measured.
 */
export function loopDelay(): { takeSec(): number | null; stop(): void } {
  const histogram = monitorEventLoopDelay({ resolution: DELAY_EVERY_MS });
  histogram.enable();
  return {
    takeSec: () => {
      const isEmpty = histogram.count === 0;
      // The platform measures from one look to the next, so its interval is in each value.
      const lateMs = histogram.percentile(99) / 1e6 - DELAY_EVERY_MS;
      histogram.reset();
      return isEmpty ? null : Math.max(0, lateMs) / 1_000;
    },
    stop: () => void histogram.disable(),
  };
}

/**
 * Longest timer of the platform, in milliseconds. The platform runs a timer with a larger delay at once, so such a
 * timer is set in stages.
 */
const STAGE_MS = 2 ** 31 - 1;

function startTimer(delayMs: number, run: () => void): Timer {
  let handle: NodeJS.Timeout;
  const set = (leftMs: number) => {
    handle = leftMs > STAGE_MS ? setTimeout(() => set(leftMs - STAGE_MS), STAGE_MS) : setTimeout(run, leftMs);
    handle.unref();
  };
  set(delayMs);
  return { cancel: () => clearTimeout(handle) };
}

const POOL_BYTES = 8 * 1024;
/** Number of random bytes in each id, its counter included. */
const RANDOM_BYTES = 8;
const COUNTER_BYTES = 2;
const VARIANTS = "89ab";

/**
 * Creates UUIDv7 (RFC 9562, method 1: a counter of 12 bits in rand_a). Ids grow within the process, even if many are
 * created in one millisecond or the clock steps back, so that rows that are created together are adjacent in an index.
 */
export function uuidSource(clock: () => number): () => string {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  let lastMs = 0;
  let counter = 0;
  let time = timeText(lastMs);
  return () => {
    if (used + COUNTER_BYTES + RANDOM_BYTES > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const nowMs = clock();
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = pool.readUInt16BE(used) & 0x7ff;
      used += COUNTER_BYTES;
      time = timeText(lastMs);
    } else if (++counter > 0xfff) {
      lastMs += 1;
      counter = 0;
      time = timeText(lastMs);
    }
    const variant = VARIANTS[(pool[used] ?? 0) >> 6];
    const random = pool.toString("hex", used, used + RANDOM_BYTES);
    used += RANDOM_BYTES;
    return `${time}${(0x7000 | counter).toString(16)}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
  };
}

function timeText(ms: number): string {
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-`;
}
