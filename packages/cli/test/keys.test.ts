import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { ApiKeyInfo, CreatedApiKey, Me, Pool } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { Commands, LongCommand, mainspring } from "./testing/command.ts";
import { startServer, type TestServer } from "./testing/server.ts";

const ROOT = "the-key-of-the-operator";

describe("API keys on the command line", () => {
  let server: TestServer;
  let folder: string;
  const texts: string[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-keys-"));
    server = await startServer({ MAINSPRING_API_KEY: ROOT, MAINSPRING_LOG_LEVEL: "trace" });
  });
  after(async () => {
    await server?.stop();
    await rm(folder, { recursive: true });
  });

  const { run, done, json, jsonLines } = new Commands(() => ({ ...server.clientEnv, MAINSPRING_API_KEY: ROOT }));
  const create = async (...args: string[]) => {
    const created = await json<CreatedApiKey>("keys", "create", ...args);
    texts.push(created.key);
    return created;
  };
  const as = (key: string, ...args: string[]) =>
    mainspring(args, { env: { ...server.clientEnv, MAINSPRING_API_KEY: key } });

  it("are created with fewer rights, listed, shown without their texts, and used", async () => {
    const made = ["--name", "night shift", "--scope", "jobs:submit", "--expires", "2999-01-01T00:00:00Z"];
    const created = await create("--kind", "client", ...made);
    assert.match(created.key, /^msc_[0-9A-Za-z]{44}$/);
    assert.deepEqual([created.kind, created.name, created.scopes], ["CLIENT", "night shift", ["jobs:submit"]]);
    assert.equal(created.expiresAt, "2999-01-01T00:00:00.000Z");
    const worker = await create("--kind", "worker", "--pool", "gpu-*", "--pool", "mail");
    assert.deepEqual([worker.name, worker.pools], ["worker", ["gpu-*", "mail"]]);
    const certified = await create("--kind", "worker", "--name", "certified", "--require-cert");
    assert.equal(certified.certificateId, certified.keyId);
    assert.match(
      await done("keys", "get", certified.keyId),
      new RegExp(`mainspring://CLUSTER/worker/${certified.keyId}`),
    );
    const listed = await jsonLines<ApiKeyInfo>("keys", "list");
    assert.deepEqual(listed.map(({ name }) => name).sort(), ["certified", "night shift", "worker"]);
    const shown = await Promise.all([done("keys", "list"), done("keys", "get", created.keyId)]);
    for (const text of shown) {
      assert.ok(text.includes("night shift") && text.includes(created.keyId) && text.includes(created.hint));
      assert.ok(!text.includes(created.key.slice(8)));
    }
    const submitted = await as(created.key, "submit", "echo");
    assert.deepEqual([submitted.code, submitted.stderr], [0, ""]);
    const refused = await as(created.key, "jobs", "list");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /the key lacks the scope jobs:read/);
    assert.match(await done("whoami"), /environment[^]*OPERATOR/);
  });

  it("set up pools that tenants own", async () => {
    await done("tenants", "create", "acme");
    const { key } = await create("--kind", "tenant-admin", "--tenant", "acme", "--name", "admin");
    const made = await done("pools", "set", "gpu", "--owner", "acme", "--max-running", "3");
    assert.match(made, /^pool +gpu\nowner +acme\n/);
    const shared = await json<Pool>("pools", "get", "gpu");
    assert.equal(shared.owner, null, "an operator means the shared pool of the name");
    const alone = await json<Pool>("pools", "set", "tpu", "--owner", "acme");
    assert.deepEqual([alone.name, alone.owner, alone.maxRunning], ["tpu", "acme", null]);
    await until(async () => (await done("pools", "get", "tpu", "--tenant", "acme")).includes("owner"));
    const listed = await as(key, "pools", "list");
    assert.match(listed.stdout, /^POOL .* OWNER *\n[^]*gpu .* acme *\n[^]*tpu .* acme *$/m);
    assert.doesNotMatch(await done("pools", "list"), /OWNER|gpu|acme/);
    const own = await as(key, "pools", "set", "gpu", "--strategy", "FIFO");
    assert.match(own.stdout, /owner +acme\n[^]*strategy +FIFO/);
    const foreign = await as(key, "pools", "set", "gpu", "--owner", "other");
    assert.equal(foreign.code, 1);
    assert.match(foreign.stderr, /only operators name another owner of a pool/);
    const unknown = await run(["pools", "set", "gpu", "--owner", "nobody"]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /there is no such tenant/);
  });

  it("are rotated with an overlap, and revoked for good", async () => {
    const former = await create("--kind", "reader");
    const next = await json<CreatedApiKey>("keys", "rotate", former.keyId, "--overlap", "2h");
    texts.push(next.key);
    assert.equal(next.replaces, former.keyId);
    for (const { key, keyId } of [former, next]) {
      const me = JSON.parse((await as(key, "whoami", "--json")).stdout) as Me;
      assert.deepEqual([me.keyId, me.kind], [keyId, "READER"]);
    }
    const { expiresAt } = await json<ApiKeyInfo>("keys", "get", former.keyId);
    const leftMs = Date.parse(expiresAt ?? "") - Date.parse(next.createdAt);
    assert.ok(Math.abs(leftMs - 7_200_000) < 60_000, `${leftMs} ms`);
    assert.match(await done("keys", "revoke", former.keyId), /REVOKED/);
    const refused = await as(former.key, "whoami");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /the API key is wrong, or it was revoked/);
    assert.equal((await json<ApiKeyInfo>("keys", "revoke", former.keyId)).state, "REVOKED", "a repeat changes nothing");
  });

  it("say what is wrong with a command", async () => {
    const key = "019a0000-0000-7000-8000-000000000000";
    const wrong: [string[], number, RegExp][] = [
      [
        ["keys", "create", "--kind", "boss"],
        2,
        /must be one of client, worker, reader, tenant-admin, operator, metrics/,
      ],
      [["keys", "create"], 2, /--kind/],
      [["keys", "create", "--kind", "client", "--scope", "all"], 2, /must be one of jobs:submit/],
      [["keys", "create", "--kind", "client", "--scope", "worker:serve"], 1, /a key of the kind CLIENT may have/],
      [["keys", "create", "--kind", "client", "--pool", "gpu"], 1, /only a key with the scope worker:serve has pools/],
      [
        ["keys", "create", "--kind", "reader", "--on-store", "--expires", "2999-01-01T00:00:00Z"],
        2,
        /leave out --scope/,
      ],
      [["keys", "rotate", key, "--overlap", "31d"], 2, /--overlap: at most 30 days/],
      [["keys", "get", key], 1, /there is no such API key/],
      [["keys", "revoke", "7"], 2, /UUID|id/],
    ];
    for (const [args, code, message] of wrong) {
      const ended = await run(args);
      assert.deepEqual([ended.code, ended.stdout], [code, ""], `${args.join(" ")}: ${ended.stderr}`);
      assert.match(ended.stderr, message);
    }
  });

  it("come from a file, which a worker reads again when its key is revoked", async (t) => {
    const file = join(folder, "key");
    const first = await create("--kind", "worker", "--name", "first");
    await writeFile(file, `${first.key}\n`);
    const worker = new LongCommand(["worker", "--pool", "filed"], {
      ...server.clientEnv,
      MAINSPRING_API_KEY_FILE: file,
    });
    t.after(async () => {
      worker.signal("SIGTERM");
      await worker.done;
    });
    await worker.says(/connected to/);
    const second = await create("--kind", "worker", "--name", "second");
    await writeFile(file, second.key);
    await done("keys", "revoke", first.keyId);
    const ran = await json<{ state: string }>("submit", "echo", "--pool", "filed", "--wait");
    assert.equal(ran.state, "SUCCEEDED");
    const who = await mainspring(["whoami", "--json"], {
      env: { ...server.clientEnv, MAINSPRING_API_KEY_FILE: file },
    });
    assert.equal((JSON.parse(who.stdout) as Me).keyId, second.keyId);
  });

  it("are in no line of the server's log", async () => {
    server.command.signal("SIGTERM");
    const { stdout, stderr } = await server.command.done;
    assert.match(stdout, /"level":"(trace|debug|info)"/);
    for (const text of [...texts, ROOT]) assert.ok(!(stdout + stderr).includes(text));
  });
});
