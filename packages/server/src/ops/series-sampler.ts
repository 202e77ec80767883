import type { Logger } from "pino";
import {
  POINT_MS,
  SECONDS_BUCKETS,
  SERIES,
  SERIES_NAMES,
  type SeriesName,
  type SeriesValue,
  type ToldSeries,
} from "../domain/series/figures.ts";
import { SeriesRing } from "../domain/series/ring.ts";
import type { ExportedMetrics, FigureFamily, FigureSample } from "../ports/metrics.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import { type FigureName, PREFIX } from "./metrics-catalogue.ts";

/** Every series is a figure of `/metrics`; another name does not compile. */
const FIGURES_OF_SERIES: readonly FigureName[] = SERIES_NAMES;

interface SamplerDependencies {
  metrics: Pick<ExportedMetrics, "only">;
  runtime: Runtime;
  log: Logger;
  /** Delay of the event loop since the last call, 99th percentile in seconds; null: nothing was measured. */
  loopLagSec(): number | null;
}

/** Keeps the last hour of the node's own figures: one point every ten seconds, at the same moments on every node. */
export class SeriesSampler {
  readonly #deps: SamplerDependencies;
  readonly #ring = new SeriesRing();
  readonly #totals = new Totals();
  #timer: Timer | null = null;
  #isStopped = false;

  constructor(deps: SamplerDependencies) {
    this.#deps = deps;
  }

  start(): void {
    const { runtime, log } = this.#deps;
    const now = runtime.now();
    const next = (Math.floor(now / POINT_MS) + 1) * POINT_MS;
    this.#timer = runtime.setTimer(next - now, async () => {
      // The clock follows the one of the store, so that a timer may run before its time.
      if (runtime.now() >= next) {
        await this.#sample().catch((error: unknown) => log.warn({ err: error }, "series: a point could not be read"));
      }
      if (!this.#isStopped) this.start();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** The points `from` to `until`, without `until`. */
  told(from: number, until: number): ToldSeries {
    return this.#ring.told(from, until);
  }

  async #sample(): Promise<void> {
    const { metrics, runtime, loopLagSec } = this.#deps;
    const point = Math.floor(runtime.now() / POINT_MS) - 1;
    const values = this.#totals.values(await metrics.only(FIGURES_OF_SERIES));
    const lag = loopLagSec();
    if (lag !== null) values.push({ name: "event_loop_lag_seconds", label: "", value: lag });
    const nodes = values.find(({ name }) => name === "cluster_nodes")?.value ?? 1;
    this.#ring.add(point, Math.max(nodes, 1), values);
  }
}

/** Turns the totals of counters into their growth since the last call. */
class Totals {
  readonly #before = new Map<string, number>();

  /** Values of a point. Counters that did not grow are left out. */
  values(families: readonly FigureFamily[]): SeriesValue[] {
    return families.flatMap((family) => {
      const name = family.name.slice(PREFIX.length) as keyof typeof SERIES;
      const { kind } = SERIES[name];
      if (kind === "HISTOGRAM") return this.#histogram(name, family.samples);
      if (kind === "COUNT") return this.#counter(name, family.samples);
      return family.samples.map((sample) => ({ name, label: labelIn(name, sample), value: sample.value }));
    });
  }

  #counter(name: keyof typeof SERIES, samples: readonly FigureSample[]): SeriesValue[] {
    return samples.flatMap((sample) => {
      // Totals are told apart by all labels: one that leaves out a shard for a while must not look smaller.
      const value = this.#growth(`${name} ${JSON.stringify(sample.labels)}`, sample.value);
      return value === 0 ? [] : [{ name, label: labelIn(name, sample), value }];
    });
  }

  /** Buckets arrive as totals of all values up to their end, smallest first. */
  #histogram(name: keyof typeof SERIES, samples: readonly FigureSample[]): SeriesValue[] {
    const smaller = new Map<string, number>();
    return samples.flatMap((sample) => {
      if (sample.name?.endsWith("_bucket") !== true) return [];
      const label = labelIn(name, sample);
      const bucket = bucketOf(sample.labels.le);
      const own = sample.value - (smaller.get(label) ?? 0);
      smaller.set(label, sample.value);
      const value = this.#growth(`${name} ${bucket} ${label}`, own);
      return value === 0 ? [] : [{ name, label, bucket, value }];
    });
  }

  #growth(key: string, total: number): number {
    const before = this.#before.get(key) ?? 0;
    this.#before.set(key, total);
    return Math.max(0, total - before);
  }
}

function labelIn(name: SeriesName, { labels }: FigureSample): string {
  const label = name === "event_loop_lag_seconds" ? null : SERIES[name].label;
  return label === null ? "" : String(labels[label] ?? "");
}

function bucketOf(upperEnd: unknown): number {
  const bucket = SECONDS_BUCKETS.findIndex((bound) => bound === Number(upperEnd));
  return bucket === -1 ? SECONDS_BUCKETS.length : bucket;
}
