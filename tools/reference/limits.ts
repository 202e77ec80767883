import {
  BATCH_BODY_BYTES_MAX,
  BATCH_JOBS_MAX,
  DEPTH_MAX,
  PAYLOAD_BYTES_MAX,
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
  ["event streams of a node", count(FOLLOWERS_MAX), "429"],
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
  ["result of an attempt", mib(WORKER_LIMITS.resultBytes), "the attempt fails"],
];
