import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SHARD_COUNT } from "../../domain/ids.ts";
import type { EventRef } from "../../ports/store-events.ts";
import { ProblemError } from "../http/errors.ts";
import { covers, decodePosition, encodePosition } from "./position-token.ts";

const positionOf = (shards: number, epoch: number, seq: number) =>
  new Map(Array.from({ length: shards }, (_, shard): [number, EventRef] => [shard, { epoch, seq }]));

describe("a position of the stream of events", () => {
  it("is the same after a way through its text", () => {
    for (const number of [0, 1, 127, 128, 16_383, 16_384, 2 ** 32, 2 ** 32 + 128, Number.MAX_SAFE_INTEGER]) {
      for (const shards of [0, 1, 9, SHARD_COUNT]) {
        const position = positionOf(shards, number, Math.floor(number / 3));
        assert.deepEqual(decodePosition(encodePosition(position)), position);
      }
    }
    const gaps = new Map([3, 63, 8].map((shard) => [shard, { epoch: shard, seq: 7 }]));
    assert.deepEqual(new Map([...decodePosition(encodePosition(gaps))].sort()), new Map([...gaps].sort()));
  });

  it("is short enough for a header", () => {
    assert.ok(encodePosition(positionOf(SHARD_COUNT, 2 ** 40, Number.MAX_SAFE_INTEGER)).length <= 2_048);
    assert.ok(encodePosition(positionOf(SHARD_COUNT, 900, 1_000_000)).length < 450);
  });

  it("refuses every text that no server made", () => {
    const token = encodePosition(positionOf(2, 5, 300));
    const bytes = [...Buffer.from(token, "base64url")];
    const texts = [
      ...["", "7", "latest", "%", "A".repeat(5_000), `${token}A`, `${token}=`, token.slice(0, -2), ` ${token}`],
      ...[
        [2, ...bytes.slice(1)],
        [...bytes, 0],
        [1, 1, 0, 0, 0, 0, 0, 0, 0, 0x85, 0, 1],
        [1, 1, 0, 0, 0, 0, 0, 0, 0, ...Array(9).fill(0xff), 1],
      ].map((wrong) => Buffer.from(wrong).toString("base64url")),
    ];
    for (const text of texts) {
      assert.throws(
        () => decodePosition(text),
        (error) => {
          assert.ok(error instanceof ProblemError, text);
          assert.match(String(error.problem.detail), /must be the id of an event of GET \/v1\/events/);
          return true;
        },
      );
    }
  });

  it("covers another where no row of that one is missing", () => {
    const [low, high, next] = [positionOf(3, 4, 9), positionOf(3, 4, 10), positionOf(3, 5, 1)];
    assert.deepEqual(
      [covers(high, low), covers(low, low), covers(low, high), covers(next, high)],
      [true, true, false, true],
    );
    assert.deepEqual([covers(positionOf(2, 9, 9), low), covers(low, positionOf(0, 0, 0))], [false, true]);
  });
});
