import { create } from "@bufbuild/protobuf";
import {
  AggregationTemporality,
  HistogramDataPointSchema,
  HistogramSchema,
  type Metric,
  MetricSchema,
  NumberDataPointSchema,
} from "@mainspring/proto/otlp";
import type { FigureFamily, FigureSample } from "../../ports/metrics.ts";
import { attributesOf, nanosOf } from "./attributes.ts";

interface Times {
  /** Instant from which totals count, in milliseconds: the start of the process. */
  since: number;
  at: number;
}

/** Metrics of OTLP with the names, labels and totals that /metrics shows. Families without a value are left out. */
export function metricsOf(families: readonly FigureFamily[], times: Times): Metric[] {
  return families.flatMap((family) => {
    const data = dataOf(family, times);
    const { name, help: description } = family;
    return data === null ? [] : [create(MetricSchema, { name, description, data })];
  });
}

function dataOf({ name, type, samples }: FigureFamily, times: Times): Metric["data"] | null {
  const finite = samples.filter(({ value }) => Number.isFinite(value));
  if (finite.length === 0) return null;
  if (type === "histogram") {
    const dataPoints = histogramPoints(name, finite, times);
    return { case: "histogram", value: create(HistogramSchema, { dataPoints, aggregationTemporality: CUMULATIVE }) };
  }
  const dataPoints = finite.map((sample) => numberPoint(sample, times));
  if (type === "gauge") return { case: "gauge", value: { $typeName: `${METRICS}.Gauge`, dataPoints } };
  if (type !== "counter") return null;
  const sum = { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true };
  return { case: "sum", value: { $typeName: `${METRICS}.Sum`, ...sum } };
}

const METRICS = "mainspring.otlp.v1";
const CUMULATIVE = AggregationTemporality.CUMULATIVE;

function numberPoint({ labels, value }: FigureSample, { since, at }: Times) {
  return create(NumberDataPointSchema, {
    attributes: attributesOf(texts(labels)),
    startTimeUnixNano: nanosOf(since),
    timeUnixNano: nanosOf(at),
    value: { case: "asDouble", value },
  });
}

/** Buckets, sum and count of one series of a histogram. */
interface Series {
  labels: Readonly<Record<string, string>>;
  /** Upper end of each bucket, with the number of values up to it. */
  upTo: [bound: number, count: number][];
  sum: number;
  count: number;
}

function histogramPoints(name: string, samples: readonly FigureSample[], { since, at }: Times) {
  return [...seriesOf(name, samples)].map(({ labels, upTo, sum, count }) => {
    const buckets = upTo.filter(([bound]) => Number.isFinite(bound)).sort(([a], [b]) => a - b);
    const totals = [...buckets.map(([, total]) => total), count];
    return create(HistogramDataPointSchema, {
      attributes: attributesOf(labels),
      startTimeUnixNano: nanosOf(since),
      timeUnixNano: nanosOf(at),
      count: BigInt(count),
      sum,
      explicitBounds: buckets.map(([bound]) => bound),
      bucketCounts: totals.map((total, bucket) => BigInt(total - (totals[bucket - 1] ?? 0))),
    });
  });
}

function seriesOf(name: string, samples: readonly FigureSample[]): Iterable<Series> {
  const all = new Map<string, Series>();
  for (const { name: of = name, labels, value } of samples) {
    const { le, ...rest } = texts(labels);
    const key = JSON.stringify(Object.entries(rest).sort());
    const series = all.get(key) ?? { labels: rest, upTo: [], sum: 0, count: 0 };
    all.set(key, series);
    if (of === `${name}_sum`) series.sum = value;
    else if (of === `${name}_count`) series.count = value;
    else if (le !== undefined) series.upTo.push([le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le), value]);
  }
  return all.values();
}

function texts(labels: FigureSample["labels"]): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, String(value)]));
}
