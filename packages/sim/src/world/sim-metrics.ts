import type { ApiMetrics, Metrics } from "@mainspring/server/testing";

const nothing = () => undefined;

/** What one life of a server counted: judged against a recount. The rest is counted by those who watch it. */
export class SimMetrics implements Metrics, ApiMetrics {
  /** Executions that became final, by state. */
  readonly finals = new Map<string, number>();
  readonly #watched: Parameters<Metrics["watch"]>[0][] = [];

  finished(state: string, count: number): void {
    this.finals.set(state, (this.finals.get(state) ?? 0) + count);
  }

  watch(read: Parameters<Metrics["watch"]>[0]): void {
    this.#watched.push(read);
  }

  /** What the gauges show now, over all pools. */
  shown(): Record<string, number> {
    const all = Object.entries(Object.assign({}, ...this.#watched.map((read) => read())) as Record<string, unknown>);
    return Object.fromEntries(all.map(([name, value]) => [name, value instanceof Map ? sum(value) : Number(value)]));
  }

  readonly commit = nothing;
  readonly lateness = nothing;
  readonly retried = nothing;
  readonly refusedStale = nothing;
  readonly ran = nothing;
  readonly deadLetter = nothing;
  readonly submitted = nothing;
  readonly takeover = nothing;
  readonly storeOutage = nothing;
  readonly request = nothing;
  readonly submitCommit = nothing;
  readonly text = async () => ({ contentType: "text/plain", body: "" });
}

function sum(values: ReadonlyMap<string, number>): number {
  return [...values.values()].reduce((total, value) => total + value, 0);
}
