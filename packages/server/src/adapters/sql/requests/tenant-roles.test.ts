import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { TENANT_DEFAULTS } from "../../../domain/tenant.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";

const SUBMIT = `SELECT mainspring.mainspring_submit('{"target": {"handler": "echo"}}'::jsonb)`;
const SUBMIT_TWO = `SELECT mainspring.mainspring_submit_batch('[{"target": {"handler": "echo"}}, {"target": {"handler": "echo"}}]'::jsonb)`;
const TENANTS = "SELECT tenant, count(*)::int4 FROM mainspring.job_requests GROUP BY tenant ORDER BY tenant";

describe("a request of mainspring_submit", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server.stop());

  it("has the tenant of the role that has logged in, whatever role it sets", async () => {
    const database = await server.newDatabase();
    const store = await openTestStore(database);
    for (const statement of [
      "CREATE ROLE acme_app LOGIN PASSWORD 'p'",
      "CREATE ROLE other_app LOGIN PASSWORD 'p'",
      "GRANT other_app TO acme_app",
      "GRANT USAGE ON SCHEMA mainspring TO acme_app, other_app",
      "GRANT EXECUTE ON FUNCTION mainspring.mainspring_submit(jsonb, text, text), mainspring.mainspring_submit_batch(jsonb, text[], text) TO acme_app, other_app",
    ])
      await asked(database, statement);
    await store.tenants.create({ ...TENANT_DEFAULTS, name: "acme", createdAt: 1 });
    await store.tenants.bind({ kind: "ROLE", name: "acme_app" }, "acme");
    const login = { ...database, password: "p" };
    const acme = new pg.Client({ ...login, user: "acme_app" });
    await acme.connect();
    await acme.query("SET ROLE other_app");
    await acme.query(SUBMIT);
    await acme.query(SUBMIT_TWO);
    await acme.end();
    await asked({ ...login, user: "other_app" }, SUBMIT);
    await store.tenants.bind({ kind: "ROLE", name: "acme_app" }, null);
    await asked({ ...login, user: "acme_app" }, SUBMIT);
    assert.deepEqual(await asked(database, TENANTS), [
      ["acme", 3],
      ["default", 2],
    ]);
    await store.close();
  });
});
