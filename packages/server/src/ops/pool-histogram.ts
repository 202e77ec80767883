interface Series {
  /** Number of values by bucket; the last bucket is for larger values. */
  counts: number[];
  sum: number;
}

/** A value in the registry's format. */
interface Sample {
  metricName: string;
  labels: Record<string, string | number>;
  value: number;
}

/**
 * A histogram by pool that observes every job. prom-client's own histogram checks and joins its labels for each value,
 * which was a twentieth of the server's work for a job; this one only has to be readable by the registry.
 */
export class PoolHistogram {
  readonly type = "histogram";
  readonly name: string;
  readonly help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  /** @param bounds upper ends of the buckets, the smallest first */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#bounds = bounds;
  }

  observe(pool: string, value: number): void {
    let series = this.#series.get(pool);
    if (series === undefined) {
      series = { counts: Array.from({ length: this.#bounds.length + 1 }, () => 0), sum: 0 };
      this.#series.set(pool, series);
    }
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket++;
    series.counts[bucket] = (series.counts[bucket] as number) + 1;
    series.sum += value;
  }

  /** Called by the registry. */
  async get() {
    const values = [...this.#series].flatMap(([pool, series]) => this.#samples(pool, series));
    return { type: this.type, name: this.name, help: this.help, values };
  }

  #samples(pool: string, { counts, sum }: Series): Sample[] {
    let count = 0;
    const buckets = counts.map((own, bucket): Sample => {
      count += own;
      const labels = { le: this.#bounds[bucket] ?? "+Inf", pool };
      return { metricName: `${this.name}_bucket`, labels, value: count };
    });
    const labels = { pool };
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
