import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { shown } from "../src/secrets.ts";
import { mainspring } from "./testing/command.ts";

describe("mainspring config", () => {
  it("shows each value and where it comes from, and no secret", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mainspring-config-"));
    const file = join(folder, "mainspring.json");
    const store = "postgres://app:pa55word@db:5432/jobs";
    const settings = { MAINSPRING_RETENTION_DAYS: 7, MAINSPRING_HTTP: "127.0.0.1:1", MAINSPRING_STORE: store };
    await writeFile(file, JSON.stringify(settings));
    const env = {
      MAINSPRING_CONFIG: file,
      MAINSPRING_HTTP: "127.0.0.1:2",
      MAINSPRING_LOG_LEVEL: "",
      MAINSPRING_API_KEY: "k3y-that-nobody-may-read",
      MAINSPRING_WEBHOOK_SECRET: `whsec_${Buffer.alloc(24, "s3cr3t").toString("base64")}`,
    };
    const { code, stdout, stderr } = await mainspring(["config", "--json"], { env });
    await rm(folder, { recursive: true });

    assert.deepEqual([code, stderr], [0, ""]);
    const lines = stdout.trim().split("\n");
    const found = lines.map((line) => JSON.parse(line) as { key: string; value: string | null; from: string });
    const of = (key: string) => {
      const { value, from } = found.find((setting) => setting.key === key) ?? {};
      return [value, from];
    };
    assert.deepEqual(of("MAINSPRING_HTTP"), ["127.0.0.1:2", "environment"]);
    assert.deepEqual(of("MAINSPRING_RETENTION_DAYS"), ["7", file]);
    assert.deepEqual(of("MAINSPRING_LOG_LEVEL"), ["info", "default"]);
    assert.deepEqual(of("MAINSPRING_STORE"), ["postgres://app:hidden@db:5432/jobs", file]);
    assert.deepEqual(of("MAINSPRING_API_KEY"), ["(hidden)", "environment"]);
    assert.doesNotMatch(stdout, /k3y|whsec|pa55word/);
  });

  it("fails as `serve` would where a value cannot be used", async () => {
    const { code, stdout, stderr } = await mainspring(["config"], { env: { MAINSPRING_RETENTION_DAYS: "never" } });
    assert.deepEqual([code, stdout], [78, ""]);
    assert.match(stderr, /^mainspring: MAINSPRING_RETENTION_DAYS must be a whole number/);
  });

  it("hides what may be a secret by its name, and passwords wherever an address may have them", () => {
    assert.equal(shown("MAINSPRING_NEW_TOKEN", "abc"), "(hidden)");
    assert.equal(
      shown("MAINSPRING_STORE", "postgres://db/jobs?password=abc&ssl=1"),
      "postgres://db/jobs?password=hidden&ssl=1",
    );
    assert.equal(shown("MAINSPRING_STORE", "postgres://app:a:b@[/"), "(hidden)");
    assert.equal(
      shown("MAINSPRING_STORE", "postgres://app:a,b@db1:5432,db2/jobs?password=c"),
      "postgres://app:hidden@db1:5432,db2/jobs?password=hidden",
    );
    assert.equal(shown("MAINSPRING_STORE", "embedded"), "embedded");
  });
});
