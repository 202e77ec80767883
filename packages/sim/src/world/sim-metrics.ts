import type { ApiMetrics, Metrics } from "@mainspring/server/testing";

type Gauge = Parameters<Metrics["gauge"]>[0];

const nothing = () => undefined;

/** What one life of a server counted: judged against a recount. The rest is counted by those who watch it. */
export class SimMetrics implements Metrics, ApiMetrics {
  /** Executions that became final, by state. */
  readonly finals = new Map<string, number>();
  readonly #gauges = new Map<Gauge, () => number>();

  finished(state: string, count: number): void {
    this.finals.set(state, (this.finals.get(state) ?? 0) + count);
  }

  gauge(name: Gauge, read: () => number): void {
    this.#gauges.set(name, read);
  }

  /** What the gauges show now. */
  shown(): Record<string, number> {
    return Object.fromEntries([...this.#gauges].map(([name, read]) => [name, read()]));
  }

  readonly commit = nothing;
  readonly lateness = nothing;
  readonly retried = nothing;
  readonly refusedStale = nothing;
  readonly workersLost = nothing;
  readonly submitted = nothing;
  readonly takeover = nothing;
  readonly storeOutage = nothing;
  readonly request = nothing;
  readonly submitCommit = nothing;
  readonly text = async () => ({ contentType: "text/plain", body: "" });
}
