import type { Logger } from "pino";
import type { ApiMetrics } from "../ports/metrics.ts";
import type { Runtime } from "../ports/runtime.ts";
import { createHttpApp, type HttpApp } from "./http-app.ts";
import type { HttpLimits } from "./http-server.ts";
import { type About, healthRoutes } from "./node-routes.ts";
import type { ApiKeys } from "./security.ts";

export interface HealthApiParts {
  log: Logger;
  config: ApiKeys & { httpLimits?: Partial<HttpLimits> };
  metrics: ApiMetrics;
  runtime: Runtime;
  about: Pick<About, "readiness" | "isStopping">;
}

/** HTTP server of a node without the role api: its health and its metrics. */
export async function createHealthApi({ log, runtime, config, metrics, about }: HealthApiParts): Promise<HttpApp> {
  const unknown = "this node does not have the role api: ask one that has it, as GET /v1/cluster lists them";
  const app = createHttpApp({
    keys: config,
    metrics,
    log,
    runtime,
    limits: config.httpLimits,
    unknown,
    isStopping: about.isStopping,
  });
  healthRoutes(app, { metrics, about });
  await app.ready();
  return app;
}
