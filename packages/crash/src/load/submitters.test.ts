import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ClientEvent } from "../history/events.ts";
import { readHistory } from "../history/history-file.ts";
import { type SubmitterParts, submittersOf } from "./submitters.ts";

class Fake {
  readonly parts: SubmitterParts;

  constructor(parts: SubmitterParts) {
    this.parts = parts;
  }
}

describe("submitters of one process", () => {
  it("share a client and a history, and have keys and random numbers of their own that follow from the seed", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "mainspring-submitters-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const path = join(folder, "history");
    const made = () => submittersOf(["http://127.0.0.1:1,http://127.0.0.1:2", path, "7"], Fake, 3);
    const [first, again] = [made(), made()];
    const numbers = (fakes: readonly Fake[]) => fakes.map(({ parts }) => parts.random.next());
    const drawn = numbers(first);
    assert.equal(new Set(drawn).size, 3);
    assert.deepEqual(numbers(again), drawn);
    assert.deepEqual(
      first.map(({ parts }) => parts.keyPrefix),
      [0, 1, 2].map((index) => `${process.pid}-7-${index}`),
    );
    assert.equal(new Set(first.map(({ parts }) => parts.client)).size, 1);
    for (const { parts } of first)
      parts.history.write({ event: "REFUSED", at: 1, key: parts.keyPrefix, message: "no" });
    assert.equal(readHistory<ClientEvent>(path).length, 3);
  });
});
