import type { StatsBody } from "@mainspring/contract";

/** Interval of the questions for figures, in milliseconds. */
export const SAMPLE_MS = 2_000;
/** Samples of an hour. */
const SAMPLES_MAX = 1_800;

interface Sample {
  /** When the answer came, in seconds since 1970. */
  at: number;
  /** Ends since the schedulers were started. */
  finished: number;
  p50Ms: number | null;
  p99Ms: number | null;
}

/** Figures since this page was opened, oldest first. */
const samples: Sample[] = [];

export interface History {
  times: number[];
  perSec: (number | null)[];
  p50: (number | null)[];
  p99: (number | null)[];
}

/** Takes an answer into the history, at most once. */
export function remember(stats: StatsBody, nowMs: number): void {
  const at = nowMs / 1_000;
  const finished = stats.finished.reduce((sum, { count }) => sum + count, 0);
  samples.push({ at, finished, p50Ms: stats.lateness.p50Ms, p99Ms: stats.lateness.p99Ms });
  if (samples.length > SAMPLES_MAX) samples.shift();
}

export function history(): History {
  return {
    times: samples.map(({ at }) => at),
    perSec: samples.map((sample, place) => rateBetween(samples[place - 1], sample)),
    p50: samples.map(({ p50Ms }) => p50Ms),
    p99: samples.map(({ p99Ms }) => p99Ms),
  };
}

/** @returns null: there is no earlier sample, or a scheduler was restarted in between, so that its count begins again */
function rateBetween(before: Pick<Sample, "at" | "finished"> | undefined, sample: Pick<Sample, "at" | "finished">) {
  if (before === undefined || sample.finished < before.finished || sample.at <= before.at) return null;
  return (sample.finished - before.finished) / (sample.at - before.at);
}
