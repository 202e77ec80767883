import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KEY_RANDOM_CHARS, keyText } from "../domain/api-key.ts";
import { complaint, configFiles } from "./config.fixture.ts";
import { givenValues, loadConfig, loadHandlerConfig } from "./config.ts";

describe("secrets in files of their own", () => {
  const file = configFiles();

  it("takes a secret from a file of its own, without the line break at its end", () => {
    const path = file("postgres://user:hunter2@db.example:5432/mainspring\r\n");
    const config = loadConfig({ MAINSPRING_STORE_FILE: path });
    assert.equal(config.store, "postgres://user:hunter2@db.example:5432/mainspring");
    assert.deepEqual(config.warnings, []);
    const { MAINSPRING_STORE: given } = givenValues({ MAINSPRING_STORE_FILE: path });
    assert.deepEqual(given, { text: config.store, from: path });
    const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    assert.equal(loadHandlerConfig({ MAINSPRING_WEBHOOK_SECRET_FILE: file(`${secret}\n`) }).webhookSecret, secret);
  });

  it("prefers the file of a secret to the file of MAINSPRING_CONFIG", () => {
    const secret = file("the-secret-of-the-cluster", "secret");
    const all = file('{"MAINSPRING_CLUSTER_SECRET":"another-secret-of-it"}');
    const env = { MAINSPRING_CONFIG: all, MAINSPRING_CLUSTER_SECRET_FILE: secret };
    assert.equal(loadConfig(env).clusterSecret, "the-secret-of-the-cluster");
  });

  it("refuses a secret's file that it cannot use, and never shows the secret", () => {
    assert.match(
      complaint({ MAINSPRING_REDIS_FILE: "/nowhere/redis" }),
      /^MAINSPRING_REDIS_FILE must name a file .*ENOENT/,
    );
    assert.match(
      complaint({ MAINSPRING_REDIS_FILE: file("\n") }),
      /^MAINSPRING_REDIS_FILE must name a file that is not empty/,
    );
    const both = complaint({
      MAINSPRING_REDIS_FILE: file("redis://:hunter2@a"),
      MAINSPRING_REDIS: "redis://:hunter2@a",
    });
    assert.equal(both, "MAINSPRING_REDIS and MAINSPRING_REDIS_FILE must not both be set: leave one of them out");
    assert.doesNotMatch(complaint({ MAINSPRING_STORE_FILE: file("mysql://user:hunter2@db") }), /hunter2/);
  });

  it("leaves the file of a client's key or token to clients, because it must not become the key that may do everything", () => {
    const key = keyText("CLIENT", "a".repeat(KEY_RANDOM_CHARS));
    for (const credential of [key, `eyJhbGciOiJSUzI1NiJ9.${"a".repeat(600)}.c2ln`]) {
      const MAINSPRING_API_KEY_FILE = file(`${credential}\n`);
      assert.equal(loadConfig({ MAINSPRING_API_KEY_FILE }).apiKey, null);
      const both = loadConfig({ MAINSPRING_API_KEY_FILE, MAINSPRING_API_KEY: "the-key-of-the-server" });
      assert.equal(both.apiKey, "the-key-of-the-server");
    }
    const own = file("the-key-of-the-server");
    assert.equal(loadConfig({ MAINSPRING_API_KEY_FILE: own }).apiKey, "the-key-of-the-server");
  });

  it("has files for secrets only", () => {
    const { warnings } = loadConfig({ MAINSPRING_HTTP_FILE: file("127.0.0.1:9") });
    assert.match(warnings.join(), /MAINSPRING_HTTP_FILE is no key/);
  });
});
