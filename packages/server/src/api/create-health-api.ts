import type { Logger } from "pino";
import type { ApiMetrics } from "../ports/metrics.ts";
import { createHttpApp, type HttpApp, type HttpLimits } from "./http-app.ts";
import { type About, healthRoutes } from "./node-routes.ts";
import type { ApiKeys } from "./security.ts";

export interface HealthApiParts {
  log: Logger;
  config: ApiKeys & { httpLimits?: HttpLimits };
  metrics: ApiMetrics;
  about: Pick<About, "readiness">;
}

/** What a node without the role api serves over HTTP: whether it is well, and its figures. */
export async function createHealthApi({ log, config, metrics, about }: HealthApiParts): Promise<HttpApp> {
  const missing = "this node does not have the role api: ask one that has it, as GET /v1/cluster lists them";
  const app = createHttpApp(config, metrics, log, config.httpLimits, missing);
  healthRoutes(app, { metrics, about });
  await app.ready();
  return app;
}
