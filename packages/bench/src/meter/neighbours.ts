import { readFileSync } from "node:fs";
import { treeCpuUsOf, US_PER_TICK } from "./process-cpu.ts";

interface Reading {
  /** Ticks of all cores: in total, not idle, and used by this process and its descendants. */
  all: number;
  busy: number;
  own: number;
}

/** Share of the machine that other processes use during a measurement; with a large share, rates mean little. */
export class Neighbours {
  readonly #before = reading();

  /**
   * Share of all cores that others used since the beginning, including other guests of the host, in percent; null: not
   * known.
   */
  percent(): number | null {
    const [before, after] = [this.#before, reading()];
    if (before === null || after === null || after.all === before.all) return null;
    const others = after.busy - before.busy - (after.own - before.own);
    return Math.max(0, (others / (after.all - before.all)) * 100);
  }
}

function reading(): Reading | null {
  if (process.platform !== "linux") return null;
  const [, ...fields] = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "").split(/\s+/);
  // The fields are user nice system idle iowait irq softirq steal; user includes the time of this machine's guests.
  const ticks = fields.slice(0, 8).map(Number);
  const all = ticks.reduce((sum, value) => sum + value, 0);
  const [idle = 0, waiting = 0] = ticks.slice(3, 5);
  return { all, busy: all - idle - waiting, own: treeCpuUsOf(process.pid) / US_PER_TICK };
}
