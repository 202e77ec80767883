import {
  ATTEMPT_LOG_BYTES_MAX,
  ATTEMPT_LOG_LINES_MAX,
  BATCH_BODY_BYTES_MAX,
  BATCH_JOBS_MAX,
  DEPTH_MAX,
  HANDLERS_KEPT_MAX,
  PAYLOAD_BYTES_MAX,
  POLICIES_BYTES_MAX,
  SIGNAL_MAX_BYTES,
  SIGNALS_OPEN_MAX,
  SIGNALS_OPEN_MAX_BYTES,
  SPAWN_BYTES_MAX,
  SPAWN_DEPTH_MAX,
  SPAWN_EDGES_MAX,
  SPAWN_NODES_MAX,
  STEP_MAX_BYTES,
  STEPS_MAX,
  STEPS_MAX_BYTES,
  TEMPLATE_PAYLOAD_BYTES_MAX,
  WAIT_MAX_MS,
  WAITS_MAX_BYTES,
  WORKFLOW_PARTS_MAX,
  WORKFLOW_SPAWNED_MAX,
} from "../../packages/contract/src/limits.ts";
import {
  BODY_BUDGET_BYTES,
  FOLLOWERS_MAX,
  HTTP_LIMITS,
  LOOKED_AT,
  STREAM_MAX_MS,
  WAITERS_MAX,
  WORKER_LIMITS,
} from "../../packages/server/src/testing.ts";

const MIB = 1024 ** 2;
const count = (value: number) => value.toLocaleString("en");
const mib = (bytes: number) => `${count(bytes / MIB)} MiB`;
const kib = (bytes: number) => `${count(bytes / 1_024)} KiB`;
const sec = (ms: number) => `${count(ms / 1_000)} s`;

/** Limits of a server: subject, bound, and the effect of exceeding the bound. */
export const LIMITS: readonly string[][] = [
  ["HTTP connections of a node", count(HTTP_LIMITS.connections), "429, health checks are answered"],
  [
    "HTTP connections from one address",
    `\`MAINSPRING_HTTP_PEER_CONNECTIONS\`, ${count(HTTP_LIMITS.peerConnections)}`,
    "429",
  ],
  ["requests that wait on one connection", count(HTTP_LIMITS.pipelined), "429, and the connection is closed"],
  ["time for the headers of a request", sec(HTTP_LIMITS.headersTimeoutMs), "408"],
  ["time for a whole request", sec(HTTP_LIMITS.requestTimeoutMs), "408"],
  ["payload of a job", mib(PAYLOAD_BYTES_MAX), "413, or 400 in a batch"],
  ["body of a batch", mib(BATCH_BODY_BYTES_MAX), "413"],
  ["jobs of a batch", count(BATCH_JOBS_MAX), "400"],
  ["nesting of JSON", `${count(DEPTH_MAX)} levels`, "400"],
  ["bodies in the memory of a node", mib(BODY_BUDGET_BYTES), "429; small bodies are taken"],
  ["requests with `waitSec` that wait at a node", count(WAITERS_MAX), "429"],
  ["event streams of a node", `\`MAINSPRING_STREAMS_MAX\`, ${count(FOLLOWERS_MAX)}`, "429"],
  ["duration of an event stream", `${STREAM_MAX_MS / 3_600_000} h`, "it ends; clients go on with a new one"],
  [
    "rows that a page of a list looks at, where no index leads to what it shows",
    count(LOOKED_AT),
    "the page ends, with a `nextCursor`",
  ],
  ["workers of a node", count(WORKER_LIMITS.connections), "refused, and told so"],
  ["slots of a worker", count(WORKER_LIMITS.slots), "refused, and told so"],
  ["prefetch of a worker", count(WORKER_LIMITS.prefetch), "refused, and told so"],
  ["handlers of a worker", count(WORKER_LIMITS.handlers), "refused, and told so"],
  ["policies that a task declares", kib(POLICIES_BYTES_MAX), "the worker is refused, and told so"],
  ["policies that all tasks of a worker declare", kib(WORKER_LIMITS.policiesBytes), "refused, and told so"],
  [
    "handlers whose policies are kept",
    count(HANDLERS_KEPT_MAX),
    "those that no worker has offered for longest are forgotten",
  ],
  ["payload from which the server fills in a key", kib(TEMPLATE_PAYLOAD_BYTES_MAX), "400; the job can name its key"],
  ["result of an attempt", mib(WORKER_LIMITS.resultBytes), "the attempt fails"],
  ["value of a step, and checkpoint", kib(STEP_MAX_BYTES), "the step fails"],
  ["steps of an execution", `${count(STEPS_MAX)}, ${mib(STEPS_MAX_BYTES)}`, "the step fails"],
  ["time for which a step sleeps or waits for a signal", `${count(WAIT_MAX_MS / 86_400_000)} days`, "the step fails"],
  ["names of the steps that wait at once, and of their signals", kib(WAITS_MAX_BYTES), "the attempt fails"],
  ["data of a signal", kib(SIGNAL_MAX_BYTES), "400"],
  [
    "signals of an execution that no step has consumed",
    `${count(SIGNALS_OPEN_MAX)}, ${mib(SIGNALS_OPEN_MAX_BYTES)}`,
    "409",
  ],
  [
    "nodes that one attempt adds to its run",
    `${count(SPAWN_NODES_MAX)} with ${count(SPAWN_EDGES_MAX)} dependencies, ${mib(SPAWN_BYTES_MAX)}`,
    "the attempt fails",
  ],
  [
    "nodes that handlers add to a run",
    `${count(WORKFLOW_SPAWNED_MAX)} by ${count(WORKFLOW_PARTS_MAX)} nodes, ${SPAWN_DEPTH_MAX} levels`,
    "the attempt fails",
  ],
  [
    "log lines that are kept of an attempt",
    `${kib(ATTEMPT_LOG_BYTES_MAX)}, ${count(ATTEMPT_LOG_LINES_MAX)} lines`,
    "the oldest are dropped, and counted in `droppedLines`",
  ],
  [
    "log lines in the memory of a node",
    mib(WORKER_LIMITS.logsBytes),
    "the oldest are dropped, and counted in a metric",
  ],
];
