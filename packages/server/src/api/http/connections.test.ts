import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { type CallerBounds, Connections, peerOf } from "./connections.ts";

class Line extends EventEmitter {
  readonly remoteAddress: string;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy() {
    this.emit("close");
  }
}

const from = (address: string) => new Line(address) as unknown as Socket & Line;

const callersOf = (callers: Partial<CallerBounds>) =>
  new Connections(
    { total: 99, perPeer: 99, reserved: 9 },
    {
      ...{ unknown: 99, perTenant: 99, asksForKeys: () => true, hasSeveralTenants: () => true, monotonicMs: () => 0 },
      ...callers,
    },
  );

describe("the connections of a server", () => {
  it("are counted by address, and as a whole: beyond either bound they are reserved", () => {
    const connections = new Connections({ total: 3, perPeer: 2, reserved: 9 });
    const isReserved = (address: string) => {
      const line = from(address);
      connections.admit(line);
      return connections.isReserved(line);
    };
    const first = from("10.0.0.1");
    connections.admit(first);
    assert.deepEqual([isReserved("10.0.0.1"), isReserved("::ffff:10.0.0.1")], [false, true]);
    assert.deepEqual([isReserved("10.0.0.2"), isReserved("10.0.0.3")], [false, true]);
    first.destroy();
    assert.deepEqual([isReserved("10.0.0.1"), isReserved("10.0.0.1")], [false, true]);
  });

  it("that are reserved give way to newer ones: the oldest is closed", () => {
    const connections = new Connections({ total: 0, perPeer: 1, reserved: 2 });
    const lines = [from("10.0.0.1"), from("10.0.0.1"), from("10.0.0.1")];
    let closed = 0;
    lines[0]?.once("close", () => closed++);
    for (const line of lines) connections.admit(line);
    assert.deepEqual([closed, connections.open], [1, 2]);
    for (const line of lines.slice(1)) line.destroy();
    assert.equal(connections.open, 0);
  });

  it("that are unknown give way once they are a second old: the oldest without a request is closed", () => {
    let nowMs = 0;
    const connections = callersOf({ unknown: 2, monotonicMs: () => nowMs });
    const lines = [from("10.0.0.1"), from("10.0.0.2"), from("10.0.0.3"), from("10.0.0.4")];
    const [busy, idle, known, last] = lines as [Line & Socket, Line & Socket, Line & Socket, Line & Socket];
    const isBusy = (socket: Socket) => socket === busy;
    for (const line of [busy, idle, known]) connections.admit(line);
    assert.equal(connections.oldestBeyond(isBusy), null, "they have not had time for a first request");
    nowMs = 1_000;
    assert.equal(connections.isUsedBy(known, null), true);
    assert.equal(connections.oldestBeyond(isBusy), null, "two may be unknown");
    connections.admit(last);
    assert.equal(connections.oldestBeyond(isBusy), idle);
    assert.equal(connections.oldestBeyond(isBusy), null);
    assert.deepEqual(Object.fromEntries(connections.kinds), { KNOWN: 2, UNKNOWN: 2, RESERVED: 0 });
    assert.equal(connections.refused.UNKNOWN, 1);
    for (const line of lines) line.destroy();
    assert.deepEqual(Object.fromEntries(connections.kinds), { KNOWN: 0, UNKNOWN: 0, RESERVED: 0 });
  });

  it("are not told apart by a server that asks for no keys", () => {
    const connections = callersOf({ unknown: 0, asksForKeys: () => false, monotonicMs: () => 9_999 });
    connections.admit(from("10.0.0.1"));
    assert.equal(
      connections.oldestBeyond(() => false),
      null,
    );
  });

  it("count for the tenant of their last request, up to its bound where there are several tenants", () => {
    let hasSeveral = false;
    const connections = callersOf({ perTenant: 1, hasSeveralTenants: () => hasSeveral });
    const [first, second, shared] = [from("10.0.0.1"), from("10.0.0.1"), from("10.0.0.9")];
    for (const line of [first, second, shared]) connections.admit(line);
    for (const line of [first, second]) assert.equal(connections.isUsedBy(line, "acme"), true);
    hasSeveral = true;
    assert.deepEqual([connections.isUsedBy(first, "acme"), connections.isUsedBy(second, "acme")], [true, false]);
    assert.equal(connections.isUsedBy(first, "acme"), true, "a counted connection stays");
    assert.equal(connections.isUsedBy(second, null), true, "operators are not limited");
    assert.equal(connections.isUsedBy(shared, "other"), true);
    assert.equal(connections.isUsedBy(shared, "acme"), false);
    first.destroy();
    assert.equal(connections.isUsedBy(shared, "acme"), true, "the connection of a proxy counts for its last tenant");
    assert.equal(connections.isUsedBy(second, "other"), true);
    assert.equal(connections.refused.TENANT_CONNECTIONS, 2);
  });

  it("of one IPv6 network of 64 bits are of one peer", () => {
    assert.equal(peerOf("2001:db8:0:1::5"), peerOf("2001:DB8::1:6:7:8:9"));
    assert.notEqual(peerOf("2001:db8:0:1::5"), peerOf("2001:db8:0:2::5"));
    assert.equal(peerOf("::1"), peerOf("0:0:0:0:0:0:0:1"));
    assert.equal(peerOf("::ffff:192.0.2.7"), "192.0.2.7");
    assert.equal(peerOf("fe80::1%eth0"), "fe80:0:0:0::/64");
  });
});
