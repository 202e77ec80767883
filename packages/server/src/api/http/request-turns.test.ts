import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { describe, it } from "node:test";
import { RequestTurns } from "./request-turns.ts";

const LIMITS = { turnMs: 5, heard: 4, readAgain: 2 };

/** A clock, and turns that end when the test says so. */
class Stage {
  nowMs = 0;
  readonly #ends: (() => void)[] = [];
  readonly turns = new RequestTurns(
    {
      monotonicMs: () => this.nowMs,
      setTimer: () => assert.fail("turns end by defer"),
      defer: (run) => void this.#ends.push(run),
    },
    LIMITS,
  );
  readonly log: string[] = [];

  /** Enters work that takes this long. */
  enter(name: string, forMs = 0, alone = false): void {
    const run = () => {
      this.log.push(name);
      this.nowMs += forMs;
    };
    if (alone) this.turns.enterAlone(run);
    else this.turns.enter(run);
  }

  endTurn(): string[] {
    this.log.length = 0;
    for (const end of this.#ends.splice(0)) end();
    return [...this.log];
  }

  connection(): FakeSocket {
    const socket = new FakeSocket();
    this.turns.opened(socket as unknown as Socket);
    return socket;
  }
}

class FakeSocket extends EventEmitter {
  isRead = true;

  isPaused(): boolean {
    return !this.isRead;
  }

  pause(): void {
    this.isRead = false;
  }

  resume(): void {
    this.isRead = true;
  }
}

describe("requests of one turn of the event loop", () => {
  it("are handled at once while the turn has time, and those after them in the turns that follow, in order", () => {
    const stage = new Stage();
    for (const name of ["a", "b", "c", "d"]) stage.enter(name, 3);
    assert.deepEqual(stage.log, ["a", "b"]);
    stage.enter("e");
    assert.deepEqual(stage.endTurn(), ["c", "d"]);
    assert.deepEqual(stage.endTurn(), ["e"]);
    assert.deepEqual(stage.endTurn(), []);
  });

  it("wait for the next turn behind one that goes on by itself", () => {
    const stage = new Stage();
    for (const name of ["a", "b", "c"]) stage.enter(name, 0, true);
    assert.deepEqual(stage.log, ["a"]);
    assert.deepEqual(stage.endTurn(), ["b"]);
    assert.deepEqual(stage.endTurn(), ["c"]);
  });

  it("stop the reading of connections beyond their number, until what waits is handled", () => {
    const stage = new Stage();
    const sockets = Array.from({ length: 8 }, () => stage.connection());
    const read = () => sockets.filter(({ isRead }) => isRead).length;
    for (let n = 0; n < LIMITS.heard; n++) {
      assert.equal(read(), 8);
      stage.turns.heard();
      stage.enter("request", 4);
    }
    assert.equal(read(), 0);
    const later = stage.connection();
    assert.equal(later.isRead, false);
    assert.equal(stage.endTurn().length, 2);
    // The first turn reads one connection, because it may bring a thousand requests; later turns read more.
    const counts = [read()];
    while (read() < sockets.length) {
      stage.endTurn();
      counts.push(read());
    }
    assert.deepEqual(counts, [1, 3, 5, 7, 8]);
    stage.endTurn();
    assert.equal(later.isRead, true);
  });

  it("do not read a connection whose resume was announced before it was paused", async () => {
    const stage = new Stage();
    stage.connection();
    for (let n = 0; n < LIMITS.heard; n++) stage.turns.heard();
    const socket = new Duplex({ read: () => undefined });
    // Node's HTTP server reads a connection after its event "resume", and until its event "pause".
    let isRead = true;
    socket.on("resume", () => (isRead = true)).on("pause", () => (isRead = false));
    socket.resume();
    stage.turns.opened(socket as Socket);
    await once(socket, "resume");
    assert.equal(isRead, false);
  });

  it("count ends of connections too, whose closing takes time", () => {
    const stage = new Stage();
    const sockets = Array.from({ length: LIMITS.heard + 1 }, () => stage.connection());
    for (const socket of sockets.slice(1)) socket.emit("end");
    assert.equal(sockets[0]?.isRead, false);
  });

  it("forget a connection that has closed", () => {
    const stage = new Stage();
    const [closed, open] = [stage.connection(), stage.connection()];
    for (let n = 0; n < LIMITS.heard; n++) stage.turns.heard();
    closed.emit("close");
    for (let n = 0; n < 4; n++) stage.endTurn();
    assert.deepEqual([closed.isRead, open.isRead], [false, true]);
  });
});
