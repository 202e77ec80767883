import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import pg from "pg";
import { LongCommand, mainspring } from "../../../packages/cli/test/testing/command.ts";
import { FREE } from "../../../packages/cli/test/testing/server.ts";
import { equal, type Finding, has } from "../site.ts";
import type { TenantsCheck, TenantsSite } from "./tenants-site.ts";

const NEVER_WAS = "01976e5f-5c00-7000-8000-00000000dead";

/** Beyond the loopback a server wants keys, and speaks TLS alone where it has a certificate. */
async function wantsKeysAndTls({ folder }: TenantsSite): Promise<Finding[]> {
  const beyond = { ...FREE, MAINSPRING_DATA_DIR: join(folder, "tls"), MAINSPRING_HTTP: "0.0.0.0:0" };
  const refused = await mainspring(["serve"], { env: beyond });
  const certs = join(folder, "certs");
  const made = await mainspring(["certs", "dev", "--dir", certs]);
  const tls = {
    ...{ MAINSPRING_TLS_CERT: join(certs, "node.pem"), MAINSPRING_TLS_KEY: join(certs, "node.key") },
    ...{ MAINSPRING_TLS_CA: join(certs, "ca.pem"), MAINSPRING_API_KEY: "a-key-that-is-long-enough" },
  };
  const server = new LongCommand(["serve"], { ...beyond, ...tls });
  try {
    const [, port = ""] = await server.says(/api +https:\/\/[^/\s]+:(\d+)/);
    const plain = await fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ status }) => `answered with ${status}`,
      () => "no answer",
    );
    return [
      has(
        "a start on 0.0.0.0 without keys is refused with the command",
        refused.stderr,
        /mainspring keys create --kind operator --on-store/,
      ),
      equal("and ends with 78", refused.code, 78),
      equal("certs dev makes certificates", made.code, 0),
      equal("https is answered", await statusOf(port, await readFile(tls.MAINSPRING_TLS_CA)), 200),
      equal("http is not", plain, "no answer"),
    ];
  } finally {
    server.signal("SIGTERM");
    await server.done;
  }
}

function statusOf(port: string, ca: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path: "/healthz", ca, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on("error", reject).end();
  });
}

/** Another tenant's id is answered as an id that never was. */
async function hidesOtherTenants(site: TenantsSite): Promise<Finding[]> {
  const [one, other] = [await site.tenant("stranger-one"), await site.tenant("stranger-other")];
  const job = await other.ask<{ jobId: string; executionId: string }>("POST", "/v1/jobs", {
    target: { handler: "no-worker-offers-this" },
  });
  const ids = [job.body.jobId, job.body.executionId];
  const paths = (id: string): [string, string][] => [
    ["GET", `/v1/jobs/${id}`],
    ["DELETE", `/v1/jobs/${id}`],
    ["GET", `/v1/executions/${id}`],
    ["GET", `/v1/executions/${id}/explain`],
    ["POST", `/v1/executions/${id}/cancel`],
  ];
  const findings: Finding[] = [equal("the other tenant's job was taken", job.status, 201)];
  for (const id of ids) {
    for (const [index, [method, path]] of paths(id).entries()) {
      const [, never = ""] = paths(NEVER_WAS)[index] ?? [];
      const [seen, unknown] = [await one.ask(method, path), await one.ask(method, never)];
      const name = path.replace(id, "ID");
      const same = (text: string, of: string) => text.replaceAll(of, "ID").replace(/"requestId":"[^"]*"/, "");
      findings.push(
        equal(`${method} ${name} is answered with 404`, [seen.status, unknown.status], [404, 404]),
        equal("and as an id that never was", same(seen.text, id) === same(unknown.text, NEVER_WAS), true),
      );
    }
  }
  findings.push(
    equal("the other tenant still has its job", (await other.ask("GET", `/v1/jobs/${ids[0]}`)).status, 200),
  );
  return findings;
}

/** Edits of the audit log are found, and a missing end by the anchors that the nodes have logged. */
async function findsEditedRecords(site: TenantsSite): Promise<Finding[]> {
  const sql = new pg.Client({ connectionString: site.cluster.storeUrl });
  await sql.connect();
  try {
    const sound = await site.command("audit", "verify");
    const edited =
      "UPDATE audit SET action = $1 WHERE (at, chain, seq) IN (SELECT at, chain, seq FROM audit ORDER BY at, chain, seq LIMIT 1)";
    const { rows } = await sql.query<{ action: string }>("SELECT action FROM audit ORDER BY at, chain, seq LIMIT 1");
    await sql.query(edited, ["nothingHappened"]);
    const found = await site.command("audit", "verify");
    await sql.query(edited, [rows[0]?.action]);
    const file = join(site.folder, "anchors.ndjson");
    const logged = (await site.stopNodes()).split("\n").filter((line) => line.includes('"auditAnchor"'));
    await writeFile(file, `${logged.join("\n")}\n`);
    await sql.query(
      "DELETE FROM audit a USING (SELECT chain, max(seq) AS seq FROM audit GROUP BY chain) e WHERE a.chain = e.chain AND a.seq = e.seq AND e.seq > 1",
    );
    await sql.query("DELETE FROM audit_anchors");
    await site.startNodes();
    const cut = await site.command("audit", "verify", "--anchors", file);
    return [
      equal("the log is sound at first", sound.code, 0),
      equal("an edit is found", found.code, 1),
      has("and named", found.stdout, /^EDITED/),
      equal("the nodes have logged anchors", logged.length > 0, true),
      equal("missing ends are found by them", cut.code, 1),
      has("and named", cut.stdout, /^(CUT|ANCHOR)/),
    ];
  } finally {
    await sql.end();
  }
}

export const CHECKS_OF_ACCESS: readonly TenantsCheck[] = [
  { name: "1. Beyond the loopback a server wants keys, and speaks TLS alone", run: wantsKeysAndTls },
  { name: "2. Another tenant's id is answered as an id that never was", run: hidesOtherTenants },
  { name: "8. An edited and a cut audit log are found", run: findsEditedRecords },
];
