import type { Logger } from "pino";
import type { Authenticator } from "../ports/authenticator.ts";
import type { CertificateSource } from "../ports/certificates.ts";
import type { ApiMetrics } from "../ports/metrics.ts";
import type { Runtime } from "../ports/runtime.ts";
import { type About, healthRoutes } from "./cluster/node-routes.ts";
import { createHttpApp, type HttpApp } from "./http/http-app.ts";
import type { HttpLimits } from "./http/http-server.ts";

export interface HealthApiDependencies {
  log: Logger;
  config: { httpLimits?: Partial<HttpLimits> };
  authenticator: Authenticator;
  metrics: ApiMetrics;
  runtime: Runtime;
  about: Pick<About, "readiness" | "durability" | "isStopping">;
  /** Certificate of the server; left out or null: it speaks plain HTTP. */
  certificates?: CertificateSource | null;
}

/** HTTP server of a node without the role api, with health checks and metrics only. */
export async function createHealthApi({
  log,
  runtime,
  config,
  authenticator,
  metrics,
  about,
  certificates,
}: HealthApiDependencies): Promise<HttpApp> {
  const unknown = "this node does not have the role api: ask one that has it, as GET /v1/cluster lists them";
  const app = createHttpApp({
    authenticator,
    metrics,
    log,
    runtime,
    limits: config.httpLimits,
    unknown,
    certificates,
    isStopping: about.isStopping,
  });
  healthRoutes(app, { metrics, about });
  await app.ready();
  return app;
}
