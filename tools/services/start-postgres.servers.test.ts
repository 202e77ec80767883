import assert from "node:assert/strict";
import { describe, it } from "node:test";
import pg from "pg";
import { startPostgres, type TestPostgres } from "./start-postgres.ts";

async function ask(service: TestPostgres, text: string): Promise<unknown> {
  const client = new pg.Client(service.url);
  client.on("error", () => {});
  await client.connect();
  try {
    return Object.values((await client.query(text)).rows[0])[0];
  } finally {
    await client.end();
  }
}

describe("a PostgreSQL for tests", () => {
  for (const version of [14, 15, 16, 17, "system"] as const) {
    it(`of version ${version} comes up and goes away`, async () => {
      const service = await startPostgres({ version });
      try {
        const asked = String(await ask(service, "show server_version"));
        assert.match(asked, version === "system" ? /^\d+/ : new RegExp(`^${version}[.]`));
      } finally {
        await service.stop();
      }
      await assert.rejects(ask(service, "select 1"), { code: "ENOENT" });
    });
  }
});
