import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { AuditRecord } from "@mainspring/sdk";
import { createLog, startEmbedded, systemRuntime } from "@mainspring/server/testing";
import pg from "pg";
import { Commands, LongCommand, linesOf } from "./testing/command.ts";
import { startServer, type TestServer } from "./testing/server.ts";

/** Condition for the records of this test. */
const OWN = "action = 'putPool'";

describe("the audit log on the command line", () => {
  let server: TestServer;
  let postgres: Awaited<ReturnType<typeof startEmbedded>>;
  let folder: string;
  let settings: Record<string, string>;
  let db: pg.Client;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-audit-"));
    const log = createLog("silent");
    postgres = await startEmbedded({ dataDir: join(folder, "data"), runtime: systemRuntime(), log });
    const { host, port, user, password = "" } = postgres.connection;
    const query = new URLSearchParams({ host, port: String(port), user, password });
    settings = { MAINSPRING_STORE: `postgres:///postgres?${query}` };
    server = await startServer(settings);
    db = new pg.Client({ ...postgres.connection, database: "postgres" });
    await db.connect();
    for (const pool of ["first", "second"]) await done("pools", "pause", pool, "--force");
  });
  after(async () => {
    await db?.end();
    await server?.stop();
    await postgres?.stop();
    await rm(folder, { recursive: true });
  });

  const { run, done } = new Commands(() => server.clientEnv);

  it("is followed: records from before, and those that come", async () => {
    const following = new LongCommand(["audit", "export", "--follow"], server.clientEnv);
    await following.says(/"target":"second"/);
    await done("pools", "resume", "first");
    await following.says(/"fields":\["paused"\][^]*"target":"second"[^]*"target":"first"/);
    following.signal("SIGINT");
    const { stdout, stderr } = await following.done;
    assert.equal(stderr, "");
    const targets = linesOf<Partial<AuditRecord>>(stdout).flatMap(({ action, target }) =>
      action === "putPool" ? target : [],
    );
    assert.deepEqual(targets, ["first", "second", "first"]);
  });

  it("is verified: an edited record is named, and the exit code is 1", async () => {
    assert.match(await done("audit", "verify"), /^sound: \d+ records in 1 chain/);
    const { rows } = await db.query(`SELECT chain, seq FROM mainspring.audit WHERE ${OWN} ORDER BY seq LIMIT 1`);
    const place = `UPDATE mainspring.audit SET target = $1 WHERE seq = ${rows[0].seq}`;
    await db.query(place, ["third"]);
    const { code, stdout } = await run(["audit", "verify"]);
    assert.equal(code, 1);
    assert.match(stdout, new RegExp(`^EDITED record ${rows[0].seq} of the chain ${rows[0].chain}: `));
    const json = await run(["audit", "verify", "--json"]);
    assert.equal(json.code, 1);
    assert.equal((JSON.parse(json.stdout) as { fault: { kind: string } }).fault.kind, "EDITED");
    await db.query(place, ["first"]);
    assert.match(await done("audit", "verify"), /^sound: /);
  });

  it("is compared with kept anchors, which show a missing end", async () => {
    // A server seals the log when it stops.
    await server.stop();
    server = await startServer(settings);
    const kept = (await done("audit", "export")).split("\n").filter((line) => line.startsWith('{"auditAnchor"'));
    assert.ok(kept.length > 0);
    const file = join(folder, "anchors.ndjson");
    await writeFile(file, `{"other":"line"}\nno JSON with "auditAnchor"\n${kept.join("\n")}\n`);
    assert.match(await done("audit", "verify", "--anchors", file), new RegExp(`${kept.length} kept one`));
    await db.query("DELETE FROM mainspring.audit_anchors");
    await db.query(`DELETE FROM mainspring.audit a USING (
      SELECT chain, max(seq) AS seq FROM mainspring.audit WHERE chain IN (SELECT chain FROM mainspring.audit WHERE ${OWN}) GROUP BY chain
    ) e WHERE a.chain = e.chain AND a.seq = e.seq`);
    const { code, stdout } = await run(["audit", "verify", "--anchors", file]);
    assert.equal(code, 1);
    assert.match(stdout, /^(CUT|ANCHOR) /);
    const empty = join(folder, "empty.ndjson");
    await writeFile(empty, "{}\n");
    const none = await run(["audit", "verify", "--anchors", empty]);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /has no anchors: give lines of a server's log/);
    const missing = await run(["audit", "verify", "--anchors", join(folder, "missing")]);
    assert.match(missing.stderr, /cannot be read: ENOENT/);
  });
});
