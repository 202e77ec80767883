import type { ApiMetrics, Metrics } from "../../ports/metrics.ts";

type Readings = ReturnType<Parameters<Metrics["watch"]>[0]>;

const nothing = () => undefined;

/** Metrics of one server process, which the simulator compares with a recount. Checkers count the rest. */
export class SimMetrics implements Metrics, ApiMetrics {
  /** Executions that became final, by state. */
  readonly finals = new Map<string, number>();
  readonly #watched: (() => Readings)[] = [];

  finished(state: string, count: number): void {
    this.finals.set(state, (this.finals.get(state) ?? 0) + count);
  }

  watch(read: () => Readings): void {
    this.#watched.push(read);
  }

  /** Present values of gauges, summed over their labels. */
  shown(): Record<string, number> {
    const shown: Record<string, number> = {};
    for (const read of this.#watched) {
      for (const [name, reading] of Object.entries(read())) shown[name] = total(reading);
    }
    return shown;
  }

  readonly commit = nothing;
  readonly lateness = nothing;
  readonly ran = nothing;
  readonly planned = nothing;
  readonly deadLetter = nothing;
  readonly retried = nothing;
  readonly failed = nothing;
  readonly refusedStale = nothing;
  readonly submitted = nothing;
  readonly requestsEnded = nothing;
  readonly takeover = nothing;
  readonly storeOutage = nothing;
  readonly request = nothing;
  readonly submitCommit = nothing;
  readonly text = async () => ({ contentType: "text/plain", body: "" });
}

function total(reading: number | ReadonlyMap<string, number>): number {
  return typeof reading === "number" ? reading : [...reading.values()].reduce((sum, value) => sum + value, 0);
}
