import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { HistoryFile, readHistory } from "./history-file.ts";

it("reads what was written, but for a line that a kill cut off", () => {
  const folder = mkdtempSync(join(tmpdir(), "mainspring-history-"));
  try {
    const path = join(folder, "history.jsonl");
    const history = new HistoryFile<{ event: string }>(path);
    assert.deepEqual(readHistory(path), []);
    history.write({ event: "one" });
    history.write({ event: "two" });
    appendFileSync(path, '{"event":"thr');
    assert.deepEqual(readHistory(path), [{ event: "one" }, { event: "two" }]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
