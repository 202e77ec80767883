import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { mainspring } from "../../packages/cli/test/testing/command.ts";
import { startServer } from "../../packages/cli/test/testing/server.ts";
import { blocksOf, readRunbooks } from "../prometheus/runbooks.ts";
import { startPostgres, type TestPostgres } from "../services/start-postgres.ts";

const PAGE = readFileSync(resolve(import.meta.dirname, "../../docs/deploy/postgresql.md"), "utf8");

/** The SQL of a section of the page, a statement each. */
function sqlOf(section: string): string[] {
  const [, text = ""] = new RegExp(`^##+ ${section}\n([^]*?)(?=^##|(?![^]))`, "m").exec(PAGE) ?? [];
  return [...text.matchAll(/^```sql\n([^]*?)^```/gm)].flatMap(([, block = ""]) => statements(block));
}

function statements(block: string): string[] {
  return block
    .split(/;$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}

describe("the page about PostgreSQL", () => {
  let postgres: TestPostgres;
  let admin: pg.Client;
  before(async () => {
    postgres = await startPostgres({ version: "system" });
    admin = new pg.Client(postgres.connection);
    await admin.connect();
  });
  after(async () => {
    await admin.end();
    await postgres.stop();
  });

  it("gives a role the rights that a node needs, and one for reports those to read", async () => {
    // The superuser of PostgreSQLs for tests has the name that the page gives the role.
    const grants = sqlOf("Grants").map((statement) => statement.replace(/(ROLE|AUTHORIZATION) mainspring/, "$1 nodes"));
    for (const statement of grants) await admin.query(statement);
    const { host, port, database } = postgres.connection;
    const store = `postgres://nodes@${encodeURIComponent(host)}:${port}/${database}`;
    const server = await startServer({ MAINSPRING_STORE: store });
    try {
      const submitted = await mainspring(["submit", "echo", "--payload", "1", "--wait"], { env: server.clientEnv });
      assert.equal(submitted.code, 0, submitted.stderr);
      const { rows } =
        await admin.query(`SELECT usesuper, has_database_privilege('nodes', current_database(), 'CREATE') AS creates,
        has_table_privilege('reporting', 'mainspring.executions', 'SELECT') AS reads, has_table_privilege('reporting', 'mainspring.executions', 'UPDATE') AS writes
        FROM pg_user WHERE usename = 'nodes'`);
      assert.deepEqual(rows, [{ usesuper: false, creates: false, reads: true, writes: false }]);
    } finally {
      await server.stop();
    }
  });

  it("has settings that PostgreSQL knows, and so have the runbooks", async () => {
    const settings = ["Check the standby", "Poolers", "Backups with point-in-time restore"].flatMap(sqlOf);
    const queries = readRunbooks().flatMap((runbook) => blocksOf(runbook, "sql").flatMap(statements));
    assert.deepEqual([settings.length, queries.length], [10, 4]);
    for (const statement of [...settings, ...queries]) await assert.doesNotReject(admin.query(statement), statement);
  });
});
