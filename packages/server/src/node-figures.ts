import { loopDelay } from "./adapters/system/system-runtime.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import type { createMetrics } from "./ops/metrics.ts";
import { SeriesSampler } from "./ops/series-sampler.ts";
import type { Bus } from "./ports/bus.ts";
import { metricsExporter } from "./sinks.ts";

type FiguresContext = Parameters<typeof metricsExporter>[0] & { bus: Bus; life: Pick<Lifecycle, "started"> };

/**
 * Keeps the last hour of the node's figures, answers nodes that ask for it, and exports the figures to the receiver of
 * OTLP, if there is one.
 */
export function keepFigures(context: FiguresContext, metrics: ReturnType<typeof createMetrics>): void {
  const { runtime, log, bus, life } = context;
  const exporter = metricsExporter(context, metrics);
  life.started("export of metrics", async () => exporter?.stop());
  exporter?.start();
  const delay = loopDelay();
  const sampler = new SeriesSampler({ metrics, runtime, log, loopLagSec: delay.takeSec });
  const unlisten = bus.listen("node", (envelopes) => {
    for (const { from: node, message } of envelopes) {
      const { request, from, until } = message;
      bus.send({ node, role: "api" }, { kind: "SERIES", request, series: sampler.told(from, until) });
    }
  });
  life.started("series of figures", async () => {
    unlisten();
    sampler.stop();
    delay.stop();
  });
  sampler.start();
}
