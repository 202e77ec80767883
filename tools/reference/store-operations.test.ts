import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { StoreInterfaces } from "./store-operations.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/internals/redis-store.md"), "utf8");
const interfaces = new StoreInterfaces();

/** First cells of the tables of some sections. */
function rowsOf(...titles: readonly string[]): string[] {
  const sections = PAGE.split(/^## /m).filter((text) => titles.includes(text.slice(0, text.indexOf("\n"))));
  assert.equal(sections.length, titles.length, `the page has the sections ${titles.join(", ")}`);
  return sections.flatMap((text) => Array.from(text.matchAll(/^\| `([\w.]+)` \|/gm), ([, name = ""]) => name));
}

/** @param what names of the interface, which the rows must be, each once */
function assertSame(rows: readonly string[], what: readonly string[]): void {
  assert.ok(what.length > 0);
  assert.deepEqual([...rows].sort(), [...what].sort());
}

describe("the page about the Store port on Redis", () => {
  it("has a row for each operation of the store, and no other", () => {
    assertSame(rowsOf("Operations of shard owners", "Operations of the API"), interfaces.operationsOf("SqlStore"));
  });

  it("has a row for each part of a commit, and no other", () => {
    assertSame(rowsOf("Parts of a commit"), interfaces.fieldsOf("ShardCommit"));
  });

  it("has a row for each filter of a list, and no other", () => {
    const names = ["ExecutionFilter", "JobFilter", "RunFilter", "NodeFilter", "DeadLetterFilter", "AuditFilter"];
    const filters = names.flatMap((name) => interfaces.fieldsOf(name).map((field) => `${name}.${field}`));
    assertSame(rowsOf("Filters"), filters);
  });
});
