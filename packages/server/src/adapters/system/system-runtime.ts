import { randomFillSync } from "node:crypto";
import type { Runtime, Timer } from "../../ports/runtime.ts";

/** The platform's clock, timers and randomness: the one file of the server that asks for them. */
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

/** The platform runs a timer at once whose delay is larger than it can hold: such a one is set in stages. */
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

/**
 * UUIDv7 (RFC 9562, method 1: a counter of 12 bits in rand_a): growing within the process, also when many are made in
 * one millisecond or the clock steps back, so that rows made together lie together in an index.
 */
export function uuidSource(clock: () => number): () => string {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  let lastMs = 0;
  let counter = 0;
  return () => {
    if (used + 10 > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const nowMs = clock();
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = pool.readUInt16BE(used) & 0x7ff;
    } else if (++counter > 0xfff) {
      lastMs += 1;
      counter = 0;
    }
    const time = lastMs.toString(16).padStart(12, "0");
    const a = (0x7000 | counter).toString(16);
    const b = (0x8000 | (pool.readUInt16BE(used + 2) & 0x3fff)).toString(16);
    const rest = pool.toString("hex", used + 4, used + 10);
    used += 10;
    return `${time.slice(0, 8)}-${time.slice(8)}-${a}-${b}-${rest}`;
  };
}
