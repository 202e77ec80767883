import { create, toBinary } from "@bufbuild/protobuf";
import { ExportMetricsServiceRequestSchema, type Resource } from "@mainspring/proto/otlp";
import type { Logger } from "pino";
import { SinkRefused } from "../../ports/event-sink.ts";
import type { ExportedMetrics } from "../../ports/metrics.ts";
import type { OtlpAddress } from "../../ports/otlp-address.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { metricsOf } from "./metric-points.ts";
import { OtlpClient } from "./otlp-client.ts";
import { SCOPE } from "./resource.ts";

const PATH = "/v1/metrics";

export interface MetricsExporterOptions {
  address: OtlpAddress;
  resource: Resource;
  metrics: ExportedMetrics;
  everySec: number;
  runtime: Pick<Runtime, "now" | "setTimer">;
  log: Pick<Logger, "error" | "info" | "warn">;
}

/**
 * Sends all metrics of a server to a receiver of OTLP. A failed export is not repeated: totals only grow, so the next export has
 * all that it had. The log has the first failure in a row, and the end of the failures.
 */
export class MetricsExporter {
  readonly #options: MetricsExporterOptions;
  readonly #client: OtlpClient;
  readonly #since: number;
  #timer: Timer | null = null;
  #sending: Promise<void> = Promise.resolve();
  #isStopped = false;
  #isFailing = false;

  constructor(options: MetricsExporterOptions) {
    this.#options = options;
    this.#client = new OtlpClient(options.address);
    this.#since = options.runtime.now();
  }

  /** Exports at once, and then in the interval. */
  start(): void {
    this.#sending = this.#export().then(() => {
      const { runtime, everySec } = this.#options;
      if (!this.#isStopped) this.#timer = runtime.setTimer(everySec * 1_000, () => this.start());
    });
  }

  /** Ends all exports, also one under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#client.close();
    await this.#sending;
  }

  async #export(): Promise<void> {
    const { log } = this.#options;
    try {
      const isTaken = (await this.#client.send(PATH, await this.#request())) !== null;
      if (!isTaken) throw new SinkRefused("the OTLP receiver refused the metrics");
      if (this.#isFailing) log.info("otlp: the receiver gets metrics again");
      this.#isFailing = false;
    } catch (error) {
      if (this.#isStopped || this.#isFailing) return;
      this.#isFailing = true;
      const told = "otlp: metrics could not be exported; the next export has them";
      if (error instanceof SinkRefused) log.error({ err: error }, told);
      else log.warn({ err: error }, told);
    }
  }

  async #request(): Promise<Uint8Array> {
    const { metrics, resource, runtime } = this.#options;
    const families = await metrics.families();
    const scopeMetrics = [{ scope: SCOPE, metrics: metricsOf(families, { since: this.#since, at: runtime.now() }) }];
    const request = create(ExportMetricsServiceRequestSchema, { resourceMetrics: [{ resource, scopeMetrics }] });
    return toBinary(ExportMetricsServiceRequestSchema, request);
  }
}
