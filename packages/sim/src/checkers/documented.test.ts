import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { it } from "node:test";
import { allCheckers } from "./all.ts";
import { Ledger } from "./recurring/ledger.ts";

/** Checkers that only keep records for the others. */
const RECORDS = ["the roll", "the quiet", "the books of plans"];

it("the page of the invariants has a heading for each checker, and no other", async () => {
  const page = await readFile(new URL("../../../../docs/internals/invariants.md", import.meta.url), "utf8");
  const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
  const topology = { nodes: () => [], owners: () => [], isLinked: () => true };
  const checkers = allCheckers(new Ledger(), {
    servers: () => [],
    topology,
    askGateway: () => null,
    rules: null,
    graphs: () => new Map(),
  });
  const names = checkers.map(({ name }) => name).filter((name) => !RECORDS.includes(name));
  assert.deepEqual([...headings].sort(), names.sort());
});
