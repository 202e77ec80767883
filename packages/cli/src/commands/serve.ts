import process from "node:process";
import type { Config, RunningNode } from "@mainspring/server";
import { Command } from "commander";
import { hideSecrets, takeEnvironment } from "../secret-environment.ts";
import { serviceManager } from "../service-manager.ts";
import { onStopSignal } from "../stop-signals.ts";

const ENVIRONMENT = `
Configured by the environment, or by the same keys in the JSON file that MAINSPRING_CONFIG names:
  MAINSPRING_HTTP=127.0.0.1:8080     where the HTTP api listens; port 0 picks a free one
  MAINSPRING_GRPC=127.0.0.1:8081     where workers and other nodes connect
  MAINSPRING_DATA_DIR=./data         where the embedded store keeps its data
  MAINSPRING_STORE=embedded          or postgres://user:password@host:port/database, or redis://user:password@host:port
  MAINSPRING_STORE_SCHEMA            the schema in it; mainspring for a new store
  MAINSPRING_API_KEY                 asks for it as bearer token; none by default
  MAINSPRING_API_KEY_ALSO            a second key that is valid too, while the key is changed
  MAINSPRING_KEYS_STALE_SEC=900      how long keys of the store are good while it is away
  MAINSPRING_OIDC_ISSUER             takes access tokens of this issuer, too, as https://login.example/realm
  MAINSPRING_OIDC_AUDIENCE           what the claim aud of a token must contain
  MAINSPRING_OIDC_ALGORITHMS=RS256,PS256,ES256,EdDSA   what a token may be signed by
  MAINSPRING_OIDC_LIFE_SEC=3600      the longest life of a token
  MAINSPRING_OIDC_SKEW_SEC=30        how much the clock of the issuer may differ
  MAINSPRING_OIDC_REFRESH_SEC=10     how often it asks for an unknown key of the issuer at most
  MAINSPRING_OIDC_STALE_SEC=3600     how long keys of the issuer are good while it is away
  MAINSPRING_OIDC_ROLES_CLAIM=scope  the claim that gives a token its rights
  MAINSPRING_OIDC_ROLES=mainspring:client=client,mainspring:worker=worker,mainspring:reader=reader,mainspring:tenant-admin=tenant-admin,mainspring:operator=operator,mainspring:metrics=metrics   rights by value of it, as team-a=client,batch=jobs:submit+jobs:read
  MAINSPRING_OIDC_TENANT_CLAIM       the claim that names its tenant
  MAINSPRING_OIDC_POOLS_CLAIM=mainspring_pools   the claim with the pools that a worker may serve
  MAINSPRING_AUDIT_KEY               file of the Ed25519 key that signs the anchors of the audit log
  MAINSPRING_AUDIT_DAYS=400          how long the audit log is kept; 30 on Redis
  MAINSPRING_AUDIT_SUBMITS=off       batch: a record of each request that submits jobs
  MAINSPRING_CLUSTER_SECRET          nodes of a cluster prove it to each other; the same on all
  MAINSPRING_CLUSTER_SECRET_ALSO     a second one that is valid too, while the secret is changed
  MAINSPRING_TLS_CERT                file in PEM: the HTTP api and gRPC then speak TLS alone (mainspring certs dev makes some)
  MAINSPRING_TLS_KEY                 file of its private key
  MAINSPRING_TLS_CA                  file of the authorities of the certificates of other nodes, and of workers
  MAINSPRING_MESH_CERT               file of another certificate for links to other nodes
  MAINSPRING_MESH_KEY                file of its private key
  MAINSPRING_MESH_PLAINTEXT=off      on: nodes speak without TLS beyond this machine
  MAINSPRING_TLS=files               proxy: a proxy in front of the server speaks TLS
  MAINSPRING_HTTP_PEER_CONNECTIONS=8000   HTTP connections that one address may hold
  MAINSPRING_STREAMS_MAX=1000        event streams that clients may have open
  MAINSPRING_POOLS_MAX=10000         pools that jobs may be submitted to within an hour
  MAINSPRING_SQL_SUBMIT=on           whether it takes in what applications submit by mainspring_submit; off on Redis
  MAINSPRING_INGEST=direct           kafka: jobs go through Kafka, with 202; fallback: while the store cannot be reached
  MAINSPRING_RETENTION_DAYS=30       how long final executions are kept; 1 on Redis
  MAINSPRING_RETENTION_MAX=2000000   how many final executions a Redis that is the store keeps at most
  MAINSPRING_EVENTS                  where events of executions and jobs go: api, kafka, clickhouse, webhook and otlp, with commas
  MAINSPRING_EVENTS_KEEP_MIN=60      how many minutes back it keeps them
  MAINSPRING_EVENTS_MAX_MB=4096      space for events that wait for a receiver that is down; 256 on Redis
  MAINSPRING_KAFKA                   the brokers, as kafka://host:9092,host:9092
  MAINSPRING_KAFKA_TOPIC_PREFIX=ms.  how the names of topics begin
  MAINSPRING_KAFKA_FORMAT=json       the format of messages: json or protobuf
  MAINSPRING_KAFKA_TOPICS_BY=one     pool: a topic of its own for the assignments of each pool
  MAINSPRING_CLICKHOUSE              the database, as http://user:password@host:8123/database
  MAINSPRING_OTLP                    the receiver of OpenTelemetry for spans and metrics, as http://collector:4318
  MAINSPRING_OTLP_HEADERS            headers for it, as authorization=Bearer%20secret
  MAINSPRING_OTLP_METRICS_SEC=60     seconds between two exports of the metrics to it; 0: none
  MAINSPRING_BUILTIN_WORKER=on       whether it runs the handlers echo, sleep and http by itself
  MAINSPRING_HTTP_ALLOW_PRIVATE      networks that http may reach beyond the internet, as 127.0.0.0/8
  MAINSPRING_WEBHOOK_SECRET          whsec_ and base64: signs webhooks, and what http sends, by Standard Webhooks
  MAINSPRING_WEBHOOK_SECRET_ALSO     a second one that signs webhooks, too, while the secret is changed
  MAINSPRING_WEBHOOK_DISABLE_DAYS=3  after how many days without a delivery a webhook is disabled
  MAINSPRING_EXEC=off                on: offers exec, and who may submit jobs may run any program
  MAINSPRING_BUS=memory              mesh: a node of a cluster, with all that have the same store; kafka: the same, with assignments and results over Kafka
  MAINSPRING_BUS_FALLBACK=mesh       none: assignments and results wait while Kafka does not answer
  MAINSPRING_ROLES=api,scheduler,gateway   what this node of a cluster does
  MAINSPRING_ADVERTISE               host:port where other nodes reach it; by default where MAINSPRING_GRPC listens
  MAINSPRING_TZDATA                  newer time zone data: a folder of compiled zones, or a JSON file
  MAINSPRING_LEASES=store            etcd: the etcd of MAINSPRING_ETCD says which nodes of a cluster live
  MAINSPRING_ETCD                    its members, as http://host:2379,host:2379
  MAINSPRING_REDIS                   a Redis beside the PostgreSQL, as redis://host:6379
  MAINSPRING_REDIS_WINDOW=off        on: the scheduler asks it for what falls due
  MAINSPRING_REDIS_REPLICAS=0        how many replicas must have a change, if a Redis is the store
  MAINSPRING_REDIS_DURABILITY=always relaxed: that Redis may lose accepted jobs in a crash
  MAINSPRING_LEADER=sharded          one: the first node decides all work, and the others stand by
  MAINSPRING_STOP_DELAY_SEC=5        how long it serves on when it is told to stop; 0 where it is alone
  MAINSPRING_LOG_LEVEL=info          trace, debug, info, warn, error, fatal or silent
Ctrl-C stops it gracefully; a second one at once.`;

export function serveCommand(): Command {
  return new Command("serve").description("run a server").addHelpText("after", ENVIRONMENT).action(serve);
}

async function serve(): Promise<void> {
  // The import is here, because the other commands start faster without the server's code.
  const { loadConfig, startNode, systemRuntime } = await import("@mainspring/server");
  const stopping = new AbortController();
  onStopSignal(systemRuntime().monotonicMs, (signal) => {
    process.stdout.write(`${signal}: stopping; once more stops at once\n`);
    stopping.abort();
  });
  const environment = takeEnvironment();
  const config = loadConfig(environment);
  if (config.handlers.exec) hideSecrets(environment);
  const manager = serviceManager();
  const node = await startNode(config);
  // Without certificates, the signal ends the process, as it does when a terminal is closed.
  if (config.tls.cert !== null || config.tls.ca !== null) process.on("SIGHUP", () => void node.lookAtCertificates());
  if (!stopping.signal.aborted) {
    process.stdout.write(welcome(node, config));
    await manager.ready(`serves ${node.httpUrl} and ${node.grpcAddress}`);
  }
  const failure = await Promise.race([aborted(stopping.signal), node.failed]);
  await Promise.all([manager.stopping("stops"), node.stop()]);
  if (failure !== null) throw failure;
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}

function welcome({ httpUrl, grpcAddress }: RunningNode, { roles, apiKey, tls }: Config): string {
  if (!roles.includes("api"))
    return `\nMainspring is ready.\n\n  health             ${httpUrl}/readyz\n  nodes and workers  ${grpcAddress}\n\n`;
  const key = apiKey !== null ? ` -H "authorization: Bearer $MAINSPRING_API_KEY"` : "";
  const authority = tls.cert !== null && tls.ca !== null ? " --cacert $MAINSPRING_TLS_CA" : "";
  const job = `{"target":{"handler":"echo"},"payload":{"hello":"world"}}`;
  return `
Mainspring is ready.

  api      ${httpUrl}
  console  ${httpUrl}/console
  docs     ${httpUrl}/docs
  workers  ${grpcAddress}

Try it:

  curl -sS${authority} ${httpUrl}/v1/jobs${key} -H 'content-type: application/json' -d '${job}'

`;
}
