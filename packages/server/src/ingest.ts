import type { Logger } from "pino";
import { kafkaRequestLog, requestTopics } from "./adapters/kafka/request-log.ts";
import type { Lacking } from "./api/feature-gate.ts";
import { JobHandlers } from "./api/handlers/job-handlers.ts";
import { KeptPolicies } from "./api/handlers/kept-policies.ts";
import { PoolNames } from "./api/pools/pool-names.ts";
import { PoolOrderings } from "./api/pools/pool-orderings.ts";
import { Quotas } from "./api/quotas/quotas.ts";
import { RecordTaker } from "./api/requests/record-taker.ts";
import { JobRequestJudge } from "./api/requests/request-judge.ts";
import { RequestSender } from "./api/requests/request-sender.ts";
import { createIntake } from "./api/submit/create-intake.ts";
import { OwnShards } from "./api/submit/own-shards.ts";
import { ConfigError } from "./ops/config-file.ts";
import type { Config } from "./ops/config-types.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import type { Tenant } from "./ports/authenticator.ts";
import type { Bus } from "./ports/bus.ts";
import { CountedWarnings } from "./ports/counted-warnings.ts";
import type { Metrics } from "./ports/metrics.ts";
import { type RequestLog, RequestLogUnavailable } from "./ports/request-log.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { Store } from "./ports/store.ts";
import type { TimeZoneRules } from "./ports/time-zone-rules.ts";
import { tenantOf } from "./security/tenant.ts";
import { allowedBy, isStoppedBy, poolsBy, type TenantRing } from "./security/tenant-ring.ts";
import { TenantStores } from "./security/tenant-stores.ts";
import { webhookRules } from "./sinks.ts";

/** Ways of jobs through the log of requests. */
export interface Ingest {
  requestLog: RequestLog;
  sender: RequestSender;
  /** Whether all submits go through the log, or only those that the store did not get. */
  mode: "fallback" | "kafka";
  /** Name of the topic. */
  topic: string;
}

/** Tenant of the records of the topic. */
export function tenantOfTopic({ topic }: Pick<Ingest, "topic">, tenants: Pick<TenantRing, "tenantOfTopic">): Tenant {
  return tenantOf(tenants.tenantOfTopic(topic));
}

interface IngestContext {
  config: Config;
  runtime: Runtime;
  log: Logger;
  life: Pick<Lifecycle, "started">;
}

/**
 * Opens the log of requests, if the configuration has one. A Kafka that does not answer stops no start.
 * @throws {ConfigError} Kafka refuses the login or the topics
 */
export async function openIngest({ config, runtime, log, life }: IngestContext): Promise<Ingest | null> {
  const { ingest: mode, kafka, kafkaTopicPrefix } = config;
  if (mode === "direct" || kafka === null) return null;
  const requestLog = kafkaRequestLog(kafka, kafkaTopicPrefix, runtime);
  const sender = new RequestSender({ requestLog, runtime, log });
  life.started("log of requests", async () => sender.close());
  try {
    await sender.open();
  } catch (error) {
    const refusal = error instanceof RequestLogUnavailable ? error.refusal : null;
    if (refusal !== null) throw new ConfigError(`MAINSPRING_INGEST=${mode}: ${(error as Error).message}: ${refusal}`);
    log.warn({ err: error }, `MAINSPRING_INGEST=${mode}: the log of requests does not answer yet, retrying`);
  }
  return { requestLog, sender, mode, topic: requestTopics(kafkaTopicPrefix).requests };
}

interface TakerContext extends Pick<IngestContext, "config" | "runtime" | "log"> {
  tenants: TenantRing;
  store: Store;
  bus: Bus;
  clock: { look(): Promise<void> };
  metrics: Metrics & Parameters<typeof createIntake>[0]["metrics"];
  zones: TimeZoneRules;
  lacking: Lacking;
  owned: ConstructorParameters<typeof RecordTaker>[0]["owned"];
}

/** Takes in the records of the partitions that belong to shards of the node, by the rules of the API. */
export function recordTaker(ingest: Pick<Ingest, "requestLog" | "topic">, context: TakerContext): RecordTaker {
  const { requestLog } = ingest;
  const { tenants, config, store, bus, runtime, log, metrics, lacking } = context;
  const orderings = new PoolOrderings(store, runtime);
  const warnings = new CountedWarnings(log, runtime);
  const stores = new TenantStores(store);
  // Portions are those of one taker, and the API of the node is another one.
  const quotas = new Quotas({ store: store.quotas, node: `${bus.node}/ingest`, runtime, tenants });
  const intake = createIntake({ ...context, stores, orderings, warnings, ownShards: new OwnShards(bus) });
  const policies = new KeptPolicies({ store, runtime, lacking });
  const judge = new JobRequestJudge({
    ...{ ...context, orderings, warnings, intake, webhooks: webhookRules(config) },
    handlers: { filler: (isRepeat) => JobHandlers.fillerFrom(policies, poolsBy(tenants), isRepeat) },
    pools: new PoolNames(config.poolsMax, runtime, allowedBy(tenants)),
    isStopped: isStoppedBy(tenants),
    ...{ quotas, waitsForQuotas: true, ...(config.audit.submits === "batch" && { audited: "KAFKA" as const }) },
  });
  const taker = new RecordTaker({
    ...context,
    tenant: () => tenantOfTopic(ingest, tenants),
    store: store.ingest,
    requestLog,
    judge,
  });
  metrics.watch(() => taker.readings());
  return taker;
}
