import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { Connections, peerOf } from "./connections.ts";

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

  it("of one IPv6 network of 64 bits are of one peer", () => {
    assert.equal(peerOf("2001:db8:0:1::5"), peerOf("2001:DB8::1:6:7:8:9"));
    assert.notEqual(peerOf("2001:db8:0:1::5"), peerOf("2001:db8:0:2::5"));
    assert.equal(peerOf("::1"), peerOf("0:0:0:0:0:0:0:1"));
    assert.equal(peerOf("::ffff:192.0.2.7"), "192.0.2.7");
    assert.equal(peerOf("fe80::1%eth0"), "fe80:0:0:0::/64");
  });
});
