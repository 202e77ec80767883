import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, it } from "node:test";
import { JumpingRuntime } from "../../test/jumping-runtime.ts";
import { TinyApi } from "../../test/tiny-api.ts";
import { Client } from "./client.ts";

const STATS = { status: 200, body: {} };
const REFUSED = { status: 401, body: { type: "/problems/unauthorized", title: "no", status: 401 } };

describe("the API key of a file", () => {
  let api: TinyApi;
  let folder: string;
  let file: string;
  beforeEach(async () => {
    api = await TinyApi.start();
    folder = mkdtempSync(join(tmpdir(), "mainspring-key-"));
    file = join(folder, "key");
    writeFileSync(file, "the-first-key\n");
    process.env.MAINSPRING_API_KEY_FILE = file;
    process.env.MAINSPRING_API_KEY = "the-key-of-the-environment";
  });
  afterEach(async () => {
    delete process.env.MAINSPRING_API_KEY_FILE;
    delete process.env.MAINSPRING_API_KEY;
    rmSync(folder, { recursive: true });
    await api.stop();
  });

  const client = () => new Client({ url: api.url, runtime: new JumpingRuntime(), retryForMs: 0, timeoutMs: 40_000 });
  const sent = () => api.seen.map(({ headers }) => headers.authorization?.replace("Bearer ", ""));
  /** Replaces the file as mounted secrets are replaced. */
  const replace = (key: string) => {
    writeFileSync(`${file}.new`, key);
    renameSync(`${file}.new`, file);
  };

  it("is sent instead of the one of the environment, and another one as soon as the file has another one", async () => {
    const one = client();
    api.will(STATS, STATS, STATS, STATS);
    await one.stats();
    await one.stats();
    replace("the-second-key");
    await one.stats();
    writeFileSync(file, "the-third-key-is-longer");
    await one.stats();
    assert.deepEqual(sent(), ["the-first-key", "the-first-key", "the-second-key", "the-third-key-is-longer"]);
  });

  it("is read again when a server refuses it, and the request is repeated with another key alone", async () => {
    const one = client();
    api.will(STATS, REFUSED);
    await one.stats();
    await assert.rejects(one.stats(), { code: "UNAUTHENTICATED" });
    assert.equal(api.seen.length, 2, "the same key is not sent again");
    let key = "the-key-before";
    const other = new Client({
      url: api.url,
      runtime: new JumpingRuntime(),
      retryForMs: 0,
      timeoutMs: 40_000,
      apiKey: async () => key,
    });
    api.will(STATS, REFUSED, STATS);
    await other.stats();
    key = "the-key-after";
    await other.stats();
    assert.deepEqual(sent().slice(2), ["the-key-before", "the-key-before", "the-key-after"]);
  });

  it("stays the one before while the file is away, until it is refused", async () => {
    const one = client();
    api.will(STATS, STATS, REFUSED);
    await one.stats();
    rmSync(file);
    await one.stats();
    await assert.rejects(one.stats(), { code: "UNAUTHENTICATED", message: /the API key could not be read: .*ENOENT/ });
    assert.deepEqual(sent(), Array(3).fill("the-first-key"));
    writeFileSync(file, "the-key-that-came-back");
    api.will(STATS);
    await one.stats();
    assert.equal(sent().at(-1), "the-key-that-came-back");
  });
});
