import fc from "fast-check";

/**
 * Creates requests as bytes that are mostly nearly right, because an entirely wrong one is refused at its first byte.
 */
const METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "QUERY"];
const ID = "019a0000-0000-7000-8000-000000000000";
const PATHS = [
  ...["/v1/jobs", "/v1/jobs/batch", "/v1/executions", "/v1/pools", "/v1/workers", "/v1/stats", "/v1/cluster"],
  ...[`/v1/jobs/${ID}`, `/v1/executions/${ID}`, `/v1/executions/${ID}/cancel`, `/v1/executions/${ID}/explain`],
  ...[`/v1/jobs/${ID}/next`, `/v1/jobs/${ID}/ledger`, `/v1/jobs/${ID}/pause`, `/v1/jobs/${ID}/backfill`],
  ...["/v1/schedules/preview", "/v1/dead-letters", "/v1/dead-letters/replay", "/v1/pools/p", "/v1/jobs/by-name/n"],
  ...["/healthz", "/readyz", "/metrics", "/openapi.json", "/problems/internal", "/docs", "/nothing"],
];
const FIELDS = [
  ...[
    "target",
    "handler",
    "pool",
    "requires",
    "payload",
    "name",
    "type",
    "runAt",
    "delayMs",
    "startBefore",
    "schedule",
  ],
  ...[
    "timezone",
    "dst",
    "gap",
    "fold",
    "everySec",
    "everyMode",
    "startAt",
    "endAt",
    "maxFires",
    "spreadSec",
    "overlap",
  ],
  ...[
    "misfire",
    "misfireGraceSec",
    "maxCatchUp",
    "retryPolicy",
    "maxAttempts",
    "timeoutSec",
    "maxLifetimeSec",
    "onFinish",
    "priority",
    "labels",
    "jobs",
  ],
  ...[
    "uniqueKey",
    "concurrencyKey",
    "concurrencyLimit",
    "paused",
    "strategy",
    "maxRunning",
    "ratePerSec",
    "since",
    "until",
  ],
  ...["count", "executionIds", "__proto__", "constructor", "strange", ""],
];
const TEXTS = [
  ...[
    "echo",
    "none",
    "CRON",
    "ONCE",
    "2030-01-31T09:30:00Z",
    "2030-02-30T00:00:00Z",
    "* * * * *",
    "0 0 29 2 1",
    "@daily",
  ],
  ...[
    "L W * * *",
    "Europe/Berlin",
    "Mars/Phobos",
    "SKIP",
    "FIRE_ALL",
    "LOW",
    ID,
    "\u0000",
    "\u202e",
    "\u{1f600}",
    "x".repeat(300),
  ],
];
const NUMBERS = [0, -1, 1, 0.5, 1e3, 1e9, 1e15, 1e21, -0, 2 ** 53];

const leaf = fc.oneof(
  fc.constantFrom<unknown>(...TEXTS, ...NUMBERS, null, true, false),
  fc.string({ maxLength: 20 }),
  fc.double(),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: false },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    tie("object"),
  ),
  object: fc.dictionary(fc.constantFrom(...FIELDS), tie("value"), { maxKeys: 6 }),
}));
const target = fc.record({ handler: fc.constantFrom("none", "echo", "é"), pool: fc.constantFrom("p", "q", "") });
const job = fc.dictionary(fc.constantFrom(...FIELDS), value, { maxKeys: 4 });
const nearJob = fc.tuple(target, job).map(([to, more]) => ({ ...more, target: to }));
const document = fc.oneof(
  value,
  nearJob,
  fc.array(fc.oneof(nearJob, value), { maxLength: 5 }).map((jobs) => ({ jobs })),
);
const body = fc
  .tuple(document, fc.nat(400), fc.constantFrom("", "", "", "}", ",", '"', "\\u", "\u0007", "["))
  .map(([made, place, added]) => {
    const text = JSON.stringify(made) ?? "";
    const at = Math.min(place, text.length);
    return added === "" ? text : text.slice(0, at) + added + text.slice(at);
  });
const queryName = fc.constantFrom(
  "limit",
  "cursor",
  "state",
  "pool",
  "label",
  "since",
  "until",
  "waitSec",
  "count",
  "x",
  "handler",
);
const query = fc.array(
  fc.tuple(queryName, fc.oneof(fc.constantFrom(...TEXTS, "1", "-1", "99999"), fc.string({ maxLength: 12 }))),
  {
    maxLength: 3,
  },
);
const HEADERS = [
  ...[
    "idempotency-key: a",
    "idempotency-key: \u00e9",
    "if-match: 1",
    "if-match: *",
    "accept: text/event-stream",
    "last-event-id: 5",
  ],
  ...[
    "expect: 100-continue",
    "expect: foo",
    "origin: http://evil.example",
    "host: evil.example",
    "transfer-encoding: gzip",
  ],
  ...["content-encoding: gzip", "content-type: text/plain", "authorization: Bearer x", "upgrade: h2c", "x: \u0001"],
];

export interface HttpInput {
  method: string;
  /** Path with its query. */
  path: string;
  headers: readonly string[];
  /** Body; null: none. */
  body: string | null;
}

const path = fc.tuple(
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PATHS) }, { weight: 1, arbitrary: fc.webPath() }),
  query,
);

export const httpInput: fc.Arbitrary<HttpInput> = fc.record({
  method: fc.oneof({ weight: 3, arbitrary: fc.constantFrom("GET", "POST", "PUT") }, fc.constantFrom(...METHODS)),
  path: path.map(([route, pairs]) => {
    const search = pairs.map(([name, text]) => `${name}=${encodeURIComponent(text.toWellFormed())}`).join("&");
    return search === "" ? route : `${route}?${search}`;
  }),
  headers: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(fc.constantFrom(...HEADERS), { maxLength: 2 })),
  body: fc.option(body),
});
