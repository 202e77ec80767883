import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, it } from "node:test";
import { HistoryFile, HistoryReader, readHistory } from "./history-file.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mainspring-history-"));
  path = join(folder, "history.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true }));

it("reads what was written, but for a line that a kill cut off", () => {
  const history = new HistoryFile<{ event: string }>(path);
  assert.deepEqual(readHistory(path), []);
  history.write({ event: "one" });
  history.write({ event: "two" });
  appendFileSync(path, '{"event":"thr');
  assert.deepEqual(readHistory(path), [{ event: "one" }, { event: "two" }]);
});

it("reads on from where it was, and a line when it is whole", () => {
  const history = new HistoryFile<{ event: string }>(path);
  const reader = new HistoryReader(path);
  history.write({ event: "one" });
  appendFileSync(path, '{"event":"t');
  assert.deepEqual(reader.next(), [{ event: "one" }]);
  appendFileSync(path, 'wo"}\n');
  history.write({ event: "large".repeat(500) });
  assert.deepEqual(reader.next(), [{ event: "two" }, { event: "large".repeat(500) }]);
  assert.deepEqual(reader.next(), []);
});

it("reads more than fits into one reading", () => {
  const history = new HistoryFile<{ index: number; filler: string }>(path);
  const filler = "x".repeat(10_000);
  for (let index = 0; index < 300; index++) history.write({ index, filler });
  assert.deepEqual(
    readHistory<{ index: number }>(path).map(({ index }) => index),
    Array.from({ length: 300 }, (_, index) => index),
  );
});
