import assert from "node:assert/strict";
import { once } from "node:events";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { gatheringMessages } from "./small-pieces.ts";

/** A request whose body the test sends, and the pieces that its reader gets. */
function scene() {
  const ends: (() => void)[] = [];
  let heard = 0;
  const turns = { heard: () => void heard++ };
  const runtime = { defer: (run: () => void) => void ends.push(run), setTimer: () => assert.fail("deferred") };
  const Message = gatheringMessages(turns, runtime);
  const request = new Message(new Socket());
  const pieces: string[] = [];
  request.on("data", (piece: Buffer) => pieces.push(String(piece)));
  const endTurn = () => ends.splice(0).forEach((end) => end());
  return { request, pieces, endTurn, heard: () => heard };
}

describe("small pieces of a body", () => {
  it("are handed on together at the end of the turn, in order, and count as requests do", async () => {
    const { request, pieces, endTurn, heard } = scene();
    for (let n = 0; n < 64; n++) request.push(Buffer.from(String(n % 10)));
    endTurn();
    request.push(Buffer.from("end"));
    request.push(null);
    await once(request, "end");
    assert.equal(pieces.join(""), `${"0123456789".repeat(6)}0123end`);
    assert.ok(pieces.length <= 2, `${pieces.length} pieces`);
    assert.equal(heard(), 4);
  });

  it("are handed on as soon as they are many bytes, and before a large one that follows", async () => {
    const { request, pieces } = scene();
    for (let n = 0; n < 17; n++) request.push(Buffer.alloc(1_000, "a"));
    request.push(Buffer.alloc(50_000, "b"));
    request.push(null);
    await once(request, "end");
    assert.equal(pieces.join(""), "a".repeat(17_000) + "b".repeat(50_000));
    assert.ok(pieces.length <= 2, `${pieces.length} pieces`);
  });

  it("are not the only ones that count: large pieces do, by their bytes", () => {
    const { request, heard } = scene();
    request.push(Buffer.alloc(2_000));
    assert.equal(heard(), 1);
    request.push(Buffer.alloc(64 * 1024));
    assert.equal(heard(), 5);
  });
});
