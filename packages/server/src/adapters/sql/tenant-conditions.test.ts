import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { it } from "node:test";
import ts from "typescript";

const FOLDER = import.meta.dirname;
const OWNED = "jobs|executions|plans|skips|workflow_runs|job_requests|dead_letter_runs|execution_runs|webhooks";
const READS = new RegExp(`\\b(FROM|JOIN)\\s+(${OWNED})\\b`, "i");

/** Reads without a condition for the tenant, by file: their number, and why no handler of the api reads others by them. */
const EXCEPTIONS: Readonly<Record<string, [reads: number, why: string]>> = {
  "commit/backlog.ts": [1, "figures of the servers, for operators"],
  "commit/recover.ts": [1, "owners: attempts that a former owner left"],
  "executions/dead-letters.ts": [2, "the api goes on with the runs of all tenants, each for the tenant of its row"],
  "executions/execution-lists.ts": [
    5,
    "parts of a list, whose condition `matching` adds, and labels of the jobs of listed executions",
  ],
  "executions/execution-runs.ts": [2, "the api goes on with the runs of all tenants, each for the tenant of its row"],
  "executions/reads.ts": [5, "owners; `TenantStore.load` leaves out the rows of other tenants"],
  "ingest/take-in.ts": [1, "whether the ids of records are taken"],
  "jobs/job-payloads.ts": [1, "by the id of a job that was locked by its tenant"],
  "jobs/job-rows.ts": [1, "tables of statements that name the tenant"],
  "jobs/job-run.ts": [1, "by the id of a job that was locked by its tenant"],
  "jobs/locked-job.ts": [1, "by the id of a job that was locked by its tenant"],
  "recurring/ledger.ts": [1, "instants within ranges of a job that was read by its tenant"],
  "recurring/recurrences.ts": [7, "owners: recurring jobs of their shards"],
  "recurring/time-zones.ts": [1, "whether there is any plan"],
  "recurring/traces.ts": [2, "the search for missed instants, which goes through all tenants"],
  "requests/requests.ts": [1, "upkeep: requests past their retention"],
  "requests/take-in.ts": [1, "a node takes in the requests of all tenants, each for the tenant of its row"],
  "webhooks/deliveries.ts": [1, "owners: deliveries of their shards"],
  "webhooks/webhooks.ts": [1, "upkeep: webhooks without deliveries"],
  "workflows/hidden-nodes.ts": [1, "whether there is any run"],
  "workflows/retire-runs.ts": [4, "upkeep: runs past their retention"],
  "workflows/retry-run.ts": [1, "by the ids of runs that were read by their tenant"],
  "workflows/run-queries.ts": [
    4,
    "tables and bounds of statements that name the tenant, and nodes of a run that was read by its tenant",
  ],
  "workflows/run-reads.ts": [12, "owners, and parts of runs that were read by their tenant"],
};

/** Texts of a file that read rows of tenants and name no tenant. The functions around them may add the condition. */
function readsWithoutTenant(path: string): string[] {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node, around: string): void => {
    const text = node.getText();
    const scope = ts.isFunctionLike(node) ? text : around;
    const isText =
      ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node);
    if (isText && READS.test(text)) {
      if (!/tenant/i.test(text) && !/tenant|matching\(|\bwhere\b/i.test(scope)) found.push(text.slice(0, 100));
      return;
    }
    node.forEachChild((child) => visit(child, scope));
  };
  visit(file, "");
  return found;
}

it("reads rows of tenants by the tenant, but for the reads of owners, of upkeep, and by ids that were read by the tenant before", () => {
  // The move of a whole store in transfer/ reads the rows of all tenants, and no api uses it.
  const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
    .filter((path) => /(?<!test)[.]ts$/.test(path) && !/^(schema|testing|transfer)\//.test(path))
    .map((path) => join(FOLDER, path));
  const found = new Map(files.map((path) => [relative(FOLDER, path), readsWithoutTenant(path)]));
  for (const [path, texts] of found) {
    const [expected = 0, why = "no reason is known"] = EXCEPTIONS[path] ?? [];
    assert.equal(texts.length, expected, `${path} (${why}):\n${texts.join("\n")}`);
  }
});
