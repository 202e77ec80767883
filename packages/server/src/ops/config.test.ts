import assert from "node:assert/strict";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { complaint, configFiles } from "./config.fixture.ts";
import { ConfigError, loadConfig, loadHandlerConfig } from "./config.ts";

describe("the configuration", () => {
  const file = configFiles();

  it("is a server for this machine if nothing is said", () => {
    assert.deepEqual(loadConfig({}), {
      http: { host: "127.0.0.1", port: 8080 },
      grpc: { host: "127.0.0.1", port: 8081 },
      dataDir: resolve("./data"),
      store: "embedded",
      redisStore: null,
      storeSchema: null,
      apiKey: null,
      apiKeyAlso: null,
      keysStaleSec: 900,
      tokens: null,
      audit: { keyFile: null, days: 400, submits: "off" },
      clusterSecret: null,
      clusterSecretAlso: null,
      tls: { cert: null, key: null, ca: null, meshCert: null, meshKey: null, isProxied: false, isMeshPlain: false },
      httpLimits: { peerConnections: 8_000 },
      streamsMax: 1_000,
      poolsMax: 10_000,
      stopDelaySec: 0,
      retentionDays: 30,
      retentionMax: null,
      events: [],
      eventsKeepMin: 60,
      eventsMaxMb: 4_096,
      ingest: "direct",
      kafka: null,
      kafkaTopicPrefix: "ms.",
      kafkaFormat: "json",
      clickhouse: null,
      etcd: null,
      redis: null,
      redisWindow: false,
      wantsLeader: false,
      webhookSecrets: [],
      webhookDisableDays: 3,
      otlp: null,
      otlpMetricsSec: 60,
      logUrl: null,
      logLevel: "info",
      builtInWorker: true,
      sqlSubmit: true,
      handlers: { httpAllowPrivate: [], webhookSecret: null, exec: false },
      bus: "memory",
      busKafka: null,
      roles: ["api", "scheduler", "gateway"],
      tzdata: null,
      advertise: null,
      warnings: [],
    });
  });

  it("has two secrets for webhooks while one is changed, and refuses the second without the first", () => {
    const [first, second] = [1, 2].map((n) => `whsec_${Buffer.alloc(32, n).toString("base64")}`) as [string, string];
    const both = { MAINSPRING_WEBHOOK_SECRET: first, MAINSPRING_WEBHOOK_SECRET_ALSO: second };
    assert.deepEqual(loadConfig(both).webhookSecrets, [first, second]);
    assert.equal(
      complaint({ MAINSPRING_WEBHOOK_SECRET_ALSO: second }),
      "MAINSPRING_WEBHOOK_SECRET must be set where MAINSPRING_WEBHOOK_SECRET_ALSO is",
    );
    const wrong = complaint({ MAINSPRING_WEBHOOK_SECRET: "whsec_short", MAINSPRING_WEBHOOK_DISABLE_DAYS: "0" });
    assert.match(
      wrong,
      /^MAINSPRING_WEBHOOK_SECRET must be whsec_ .*\nMAINSPRING_WEBHOOK_DISABLE_DAYS must be a whole/,
    );
    assert.equal(wrong.includes("short"), false);
  });

  it("names the receivers of events, and refuses others", () => {
    const { events, eventsKeepMin } = loadConfig({ MAINSPRING_EVENTS: " api,", MAINSPRING_EVENTS_KEEP_MIN: "10080" });
    assert.deepEqual([events, eventsKeepMin], [["api"], 10_080]);
    assert.equal(
      complaint({ MAINSPRING_EVENTS: "api,rabbit", MAINSPRING_EVENTS_KEEP_MIN: "0" }),
      "MAINSPRING_EVENTS must be empty or a list with commas of: api, kafka, clickhouse, webhook, otlp, not rabbit\n" +
        "MAINSPRING_EVENTS_KEEP_MIN must be a whole number from 1 to 10080",
    );
  });

  it("has the receiver of OTLP where spans go there, and never repeats its headers", () => {
    const MAINSPRING_OTLP = "https://collector:4318/otlp/";
    const MAINSPRING_OTLP_HEADERS = "Authorization=Bearer%20a%2Cb, x-tenant=7";
    const headers = { authorization: "Bearer a,b", "x-tenant": "7" };
    const { otlp, otlpMetricsSec } = loadConfig({ MAINSPRING_OTLP, MAINSPRING_OTLP_HEADERS });
    assert.deepEqual([otlp, otlpMetricsSec], [{ url: "https://collector:4318/otlp", headers }, 60]);
    assert.equal(
      complaint({ MAINSPRING_EVENTS: "otlp" }),
      "MAINSPRING_OTLP must be set, as http://host:4318, where MAINSPRING_EVENTS has otlp",
    );
    const urls = ["collector:4318", "http://user:secret@host:4318", "http://host:4318/v1/traces", "grpc://host:4317"];
    for (const url of [...urls, "http://host?key=secret"]) {
      assert.match(
        complaint({ MAINSPRING_OTLP: url }),
        /^MAINSPRING_OTLP must be the base URL of a receiver, as [^?]*$/,
      );
    }
    for (const wrong of ["secret", "a b=secret", "a=secret%0A", "a=secret%", "host=secret", "a=secret,A=secret"]) {
      const said = complaint({ MAINSPRING_OTLP, MAINSPRING_OTLP_HEADERS: wrong });
      assert.match(said, /^MAINSPRING_OTLP_HEADERS must be a list with commas of name=value/);
    }
  });

  it("has the database in ClickHouse where events go there, and never repeats its password", () => {
    const MAINSPRING_EVENTS = "clickhouse";
    const MAINSPRING_CLICKHOUSE = "http://writer:a%40b@127.0.0.1:8123/mainspring";
    assert.deepEqual(loadConfig({ MAINSPRING_EVENTS, MAINSPRING_CLICKHOUSE }).clickhouse, {
      ...{ url: "http://127.0.0.1:8123", username: "writer", password: "a@b", database: "mainspring" },
    });
    assert.equal(
      complaint({ MAINSPRING_EVENTS }),
      "MAINSPRING_CLICKHOUSE must be set, as http://user:password@host:8123/database, where MAINSPRING_EVENTS has clickhouse",
    );
    const wrong = complaint({ MAINSPRING_EVENTS, MAINSPRING_CLICKHOUSE: "http://writer:secret@127.0.0.1:8123/" });
    assert.match(wrong, /^MAINSPRING_CLICKHOUSE must be a URL such as/);
    assert.ok(!wrong.includes("writer:secret"));
  });

  it("has the brokers of Kafka where events go there", () => {
    const MAINSPRING_EVENTS = "kafka";
    const { kafka, kafkaTopicPrefix } = loadConfig({ MAINSPRING_EVENTS, MAINSPRING_KAFKA: "kafka://127.0.0.1:9092" });
    assert.deepEqual([kafka, kafkaTopicPrefix], [{ brokers: ["127.0.0.1:9092"], tls: false, sasl: null }, "ms."]);
    assert.equal(
      complaint({ MAINSPRING_EVENTS }),
      "MAINSPRING_KAFKA must be set, as kafka://host:9092, where MAINSPRING_EVENTS has kafka",
    );
    const wrong = complaint({ MAINSPRING_EVENTS, MAINSPRING_KAFKA: "kafka://a", MAINSPRING_KAFKA_TOPIC_PREFIX: "a/b" });
    assert.match(wrong, /^MAINSPRING_KAFKA must be kafka:\/\/host:port/);
    assert.match(wrong, /MAINSPRING_KAFKA_TOPIC_PREFIX must be up to 100 letters/);
    assert.equal(loadConfig({ MAINSPRING_KAFKA_FORMAT: "protobuf" }).kafkaFormat, "protobuf");
    assert.match(complaint({ MAINSPRING_KAFKA_FORMAT: "avro" }), /^MAINSPRING_KAFKA_FORMAT must be json or protobuf/);
  });

  it("has no Kafka on a Node that its client does not run on", () => {
    const kafka = { MAINSPRING_EVENTS: "api,kafka", MAINSPRING_KAFKA: "kafka://127.0.0.1:9092" };
    for (const version of ["22.18.0", "22.21.9", "23.11.0", "24.5.0"]) {
      const message = `MAINSPRING_EVENTS must not have kafka with Node ${version}: install Node 22.22, 24.6 or newer`;
      assert.throws(() => loadConfig(kafka, version), { name: "ConfigError", message });
      assert.deepEqual(loadConfig({ MAINSPRING_EVENTS: "api" }, version).events, ["api"]);
    }
    for (const version of ["22.22.0", "24.6.0", "25.0.0", "26.1.0"])
      assert.deepEqual(loadConfig(kafka, version).events, ["api", "kafka"]);
  });

  it("has the bus on Kafka only in a cluster with brokers", () => {
    const MAINSPRING_STORE = "postgres://u:p@db/jobs";
    const env = { MAINSPRING_BUS: "kafka", MAINSPRING_STORE, MAINSPRING_KAFKA: "kafka://127.0.0.1:9092" };
    const { bus, busKafka, stopDelaySec } = loadConfig(env);
    assert.deepEqual([bus, busKafka, stopDelaySec], ["mesh", { topicsBy: "one", isStrict: false }, 5]);
    const strict = { MAINSPRING_KAFKA_TOPICS_BY: "pool", MAINSPRING_BUS_FALLBACK: "none" };
    assert.deepEqual(loadConfig({ ...env, ...strict }).busKafka, { topicsBy: "pool", isStrict: true });
    assert.equal(
      complaint({ ...env, MAINSPRING_KAFKA: "" }),
      "MAINSPRING_KAFKA must be set, as kafka://host:9092, where MAINSPRING_BUS is kafka",
    );
    assert.match(complaint({ ...env, MAINSPRING_STORE: "" }), /^MAINSPRING_STORE must be a URL/);
    assert.equal(
      complaint({ ...strict, MAINSPRING_BUS: "mesh", MAINSPRING_STORE }),
      "MAINSPRING_BUS must be kafka where MAINSPRING_KAFKA_TOPICS_BY is pool\n" +
        "MAINSPRING_BUS must be kafka where MAINSPRING_BUS_FALLBACK is none",
    );
    assert.match(complaint({ MAINSPRING_BUS: "rabbit" }), /^MAINSPRING_BUS must be memory or mesh or kafka/);
  });

  it("comes from the file, and the environment wins", () => {
    const path = file(
      '{"MAINSPRING_HTTP":"[::1]:9000","MAINSPRING_RETENTION_DAYS":7,"MAINSPRING_BUILTIN_WORKER":"off"}',
    );
    const config = loadConfig({ MAINSPRING_CONFIG: path, MAINSPRING_RETENTION_DAYS: "8", MAINSPRING_HTTP: "" });
    assert.deepEqual([config.http.host, config.retentionDays, config.builtInWorker], ["::1", 8, false]);
  });

  it("warns of variables that it does not know, and refuses such keys in the file", () => {
    const { warnings } = loadConfig({ MAINSPRING_HTPP: "x", MAINSPRING_URL: "http://127.0.0.1:8080", PATH: "/bin" });
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", /^MAINSPRING_HTPP is no key of the configuration: the keys are MAINSPRING_HTTP/);
    assert.match(complaint({ MAINSPRING_CONFIG: file('{"MAINSPRING_HTPP":"x"}') }), /MAINSPRING_HTPP is no key/);
  });

  it("names each key that is wrong, and says what would be right", () => {
    const message = complaint({
      MAINSPRING_HTTP: "8080",
      MAINSPRING_GRPC: "127.0.0.1:99999",
      MAINSPRING_STORE: "mysql://root@db",
      MAINSPRING_API_KEY: "short",
      MAINSPRING_RETENTION_DAYS: "0",
      MAINSPRING_LOG_LEVEL: "loud",
      MAINSPRING_BUILTIN_WORKER: "yes",
      MAINSPRING_HTTP_ALLOW_PRIVATE: "127.0.0.0/8,10.1",
      MAINSPRING_WEBHOOK_SECRET: "whsec_c2hvcnQ=",
      MAINSPRING_EXEC: "true",
    });
    for (const sentence of [
      /^MAINSPRING_HTTP must be host:port, as 127.0.0.1:8080/m,
      /^MAINSPRING_GRPC must be host:port/m,
      /^MAINSPRING_STORE must be "embedded" or a URL such as postgres:/m,
      /^MAINSPRING_API_KEY must be 16 to 512 visible ASCII characters/m,
      /^MAINSPRING_RETENTION_DAYS must be a whole number from 1 to 36500/m,
      /^MAINSPRING_LOG_LEVEL must be trace or debug or/m,
      /^MAINSPRING_BUILTIN_WORKER must be on or off/m,
      /^MAINSPRING_HTTP_ALLOW_PRIVATE must be networks such as .*, not 10\.1$/m,
      /^MAINSPRING_WEBHOOK_SECRET must be whsec_ and 24 to 64 bytes in base64/m,
      /^MAINSPRING_EXEC must be on or off/m,
    ]) {
      assert.match(message, sentence);
    }
  });

  it("tells a worker what its handlers may do, and nothing that is the server's affair", () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const env = { MAINSPRING_HTTP: "0.0.0.0:80", MAINSPRING_EXEC: "on", MAINSPRING_WEBHOOK_SECRET: secret };
    const handlers = loadHandlerConfig({ ...env, MAINSPRING_HTTP_ALLOW_PRIVATE: " 10.0.0.0/8, fd00::/8," });
    assert.deepEqual(handlers, { httpAllowPrivate: ["10.0.0.0/8", "fd00::/8"], webhookSecret: secret, exec: true });
    assert.throws(() => loadHandlerConfig({ MAINSPRING_EXEC: "maybe" }), ConfigError);
    for (const networks of ["10/8", "010.0.0.0/8", "10.0.0.0", "10.0.0.0/33", "::1/129", "private"]) {
      assert.throws(() => loadHandlerConfig({ MAINSPRING_HTTP_ALLOW_PRIVATE: networks }), ConfigError, networks);
    }
  });

  it("takes the name of a schema that needs no quotes", () => {
    const of = (name: string) => ({ MAINSPRING_STORE_SCHEMA: name });
    for (const name of ["mainspring", "public", "_a1", "s".repeat(63)]) {
      assert.equal(loadConfig(of(name)).storeSchema, name);
    }
    for (const name of [
      "Jobs",
      "1a",
      "a-b",
      "a b",
      'a"b',
      "a,b",
      "$user",
      "pg_temp",
      "information_schema",
      "s".repeat(64),
      "é",
    ]) {
      assert.match(
        complaint(of(name)),
        /^MAINSPRING_STORE_SCHEMA must be 1 to 63 lower-case letters, digits and _/,
        name,
      );
    }
  });

  it("takes several PostgreSQL servers of which one is the primary, and no session on a standby", () => {
    const of = (query: string) => ({ MAINSPRING_STORE: `postgres://me@db1:5432,[::1]/jobs${query}` });
    for (const query of ["", "?target_session_attrs=read-write", "?target_session_attrs=primary"])
      assert.equal(loadConfig(of(query)).store, of(query).MAINSPRING_STORE);
    assert.match(
      complaint(of("?target_session_attrs=any")),
      /^MAINSPRING_STORE must have target_session_attrs=read-write/m,
    );
    assert.match(
      complaint({ MAINSPRING_STORE: "postgres://me@db/jobs?host=db1,db2&port=5432,5433" }),
      /^MAINSPRING_STORE must name several servers before the path, as postgres:/m,
    );
    assert.match(
      complaint({ MAINSPRING_STORE: "postgres://db1,,db2/jobs" }),
      /^MAINSPRING_STORE must be "embedded" or a URL/m,
    );
  });

  it("makes a server a node of a cluster", () => {
    const mesh = { MAINSPRING_BUS: "mesh", MAINSPRING_STORE: "postgres://db/mainspring", MAINSPRING_LEASES: "store" };
    const key = { MAINSPRING_API_KEY: "k".repeat(16) };
    const config = loadConfig({
      ...mesh,
      MAINSPRING_ROLES: "gateway, api",
      MAINSPRING_ADVERTISE: "node-1.example:8081",
    });
    assert.deepEqual([config.bus, config.roles], ["mesh", ["api", "gateway"]]);
    assert.deepEqual(config.advertise, { host: "node-1.example", port: 8081 });
    assert.match(
      complaint({ MAINSPRING_BUS: "mesh" }),
      /^MAINSPRING_STORE must be a URL .* that all nodes have in common/m,
    );
    assert.match(
      complaint({ MAINSPRING_ROLES: "api" }),
      /^MAINSPRING_ROLES must be api,scheduler,gateway: a server that/,
    );
    assert.match(complaint({ ...mesh, MAINSPRING_ROLES: "api,worker" }), /one or more of api,scheduler,gateway/);
    for (const grpc of ["0.0.0.0:8081", "[::]:8081", "0:8081"]) {
      assert.match(complaint({ ...mesh, ...key, MAINSPRING_GRPC: grpc }), /^MAINSPRING_ADVERTISE must be set/, grpc);
      assert.match(complaint({ ...mesh, MAINSPRING_ADVERTISE: grpc }), /^MAINSPRING_ADVERTISE must be host:port where/);
    }
    assert.match(complaint({ ...mesh, MAINSPRING_ADVERTISE: "10.0.0.5:0" }), /^MAINSPRING_ADVERTISE must be host:port/);
    loadConfig({ ...mesh, ...key, MAINSPRING_GRPC: "10.0.0.5:8081" });
    for (const address of ["127.0.0.1:8081", "localhost:8081", "[::1]:8081"]) {
      const open = { ...mesh, ...key, MAINSPRING_GRPC: "0.0.0.0:8081", MAINSPRING_ADVERTISE: address };
      assert.match(
        complaint(open),
        /^MAINSPRING_ADVERTISE must be an address of this machine, as 10\.0\.0\.5:8081: a loop/,
      );
      loadConfig({ ...open, MAINSPRING_GRPC: "127.0.0.1:8081" });
    }
    for (const wrong of ["node-1", "http://node-1:8081", "node-1:99999", ":8081", "node 1:8081"]) {
      assert.match(
        complaint({ ...mesh, MAINSPRING_ADVERTISE: wrong }),
        /^MAINSPRING_ADVERTISE must be host:port/,
        wrong,
      );
    }
  });

  it("takes an etcd for the leases, and one leader, for the nodes of a cluster alone", () => {
    const mesh = { MAINSPRING_BUS: "mesh", MAINSPRING_STORE: "postgres://db/mainspring" };
    const etcd = { MAINSPRING_LEASES: "etcd", MAINSPRING_ETCD: "http://127.0.0.1:2379" };
    const address = { endpoints: ["127.0.0.1:2379"], tls: null, login: null, prefix: "mainspring" };
    assert.deepEqual(loadConfig({ ...mesh, ...etcd }).etcd, address);
    assert.equal(loadConfig({ ...mesh, MAINSPRING_ETCD: etcd.MAINSPRING_ETCD }).etcd, null, "it waits for its use");
    assert.equal(loadConfig({ ...mesh, MAINSPRING_LEADER: "one" }).wantsLeader, true);
    const lacking = complaint({ ...mesh, MAINSPRING_LEASES: "etcd" });
    assert.equal(lacking, "MAINSPRING_ETCD must be set, as http://host:2379, where MAINSPRING_LEASES is etcd");
    assert.match(complaint(etcd), /^MAINSPRING_LEASES must be store where MAINSPRING_BUS is memory: a server that/);
    assert.match(complaint({ MAINSPRING_LEADER: "one" }), /^MAINSPRING_LEADER must be sharded where MAINSPRING_BUS/);
    assert.match(complaint({ MAINSPRING_LEASES: "redis" }), /^MAINSPRING_LEASES must be store or etcd/);
    const wrong = complaint({ ...mesh, ...etcd, MAINSPRING_ETCD: "http://root:p4ssw0rd@etcd" });
    assert.match(wrong, /^MAINSPRING_ETCD must be http:\/\/host:2379,host:2379 or https:/);
    assert.doesNotMatch(wrong, /p4ssw0rd/);
  });

  it("takes the address of a system that keeps log lines, with placeholders that it knows", () => {
    const all = "https://logs.example/{jobId}/{executionId}?n={attempt}&from={startedAt}&to={finishedAt}#{attempt}";
    for (const url of [all, "http://10.0.0.5:3000/", "https://{jobId}.logs.example/x"]) {
      assert.equal(loadConfig({ MAINSPRING_LOG_URL: url }).logUrl, url);
    }
    const wrong: [string, RegExp][] = [
      ["https://logs.example/{execution}", /, not \{execution\}$/],
      ["https://logs.example/{}", /, not \{\}$/],
      ["https://logs.example/{executionId", /, not \{executionId$/],
      ["https://logs.example/executionId}", /, not \}$/],
      ["https://logs.example/{{attempt}}", /, not \{/],
      ["https://logs.example/{constructor}", /, not \{constructor\}$/],
      ["https://me:hunter2@logs.example/{attempt}", /, not one with a password$/],
    ];
    for (const url of [
      "logs.example/{attempt}",
      "javascript:alert({attempt})",
      "ftp://logs.example/",
      "x",
      "http://",
    ]) {
      wrong.push([url, /\{finishedAt\}$/]);
    }
    for (const [url, message] of wrong) {
      const said = complaint({ MAINSPRING_LOG_URL: url });
      assert.match(said, /^MAINSPRING_LOG_URL must be an http or https URL without a password, as https/);
      assert.match(said, message);
      assert.doesNotMatch(said, /hunter2/);
    }
  });

  it("never repeats a secret in a complaint", () => {
    const secrets = {
      MAINSPRING_STORE: "postgres//me:hunter2@db/x",
      MAINSPRING_API_KEY: "hunter2 hunter2 hunter2",
      MAINSPRING_WEBHOOK_SECRET: "hunter2",
    };
    assert.doesNotMatch(complaint(secrets), /hunter2/);
    const path = file('{"MAINSPRING_STORE": "postgres://me:hunter2@db/x" ');
    assert.match(complaint({ MAINSPRING_CONFIG: path }), /is not JSON$/);
    assert.doesNotMatch(complaint({ MAINSPRING_CONFIG: path }), /hunter2/);
  });

  it("says what is wrong with the file", () => {
    assert.match(complaint({ MAINSPRING_CONFIG: "/nowhere/x.json" }), /MAINSPRING_CONFIG must name a file .*ENOENT/);
    assert.match(complaint({ MAINSPRING_CONFIG: file("[]") }), /must hold a JSON object/);
    assert.match(complaint({ MAINSPRING_CONFIG: file('{"MAINSPRING_HTTP":{}}') }), /MAINSPRING_HTTP must be a string/);
  });
});
