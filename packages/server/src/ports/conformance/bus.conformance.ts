import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Bus, Envelope } from "../bus.ts";
import type { ToApi } from "../messages.ts";

/** Behaviour of every bus, for a node that can reach itself. */
export function busConformance(name: string, makeBus: () => Bus): void {
  const final = (executionId: string): ToApi => ({ kind: "FINAL", executionId, state: "SUCCEEDED" });

  /** Collects the next messages for a role until `expected` have arrived. */
  function collect(bus: Bus, expected: number): Promise<Envelope<ToApi>[]> {
    const got: Envelope<ToApi>[] = [];
    return new Promise((resolve) => {
      bus.listen("api", (messages) => {
        got.push(...messages);
        if (got.length >= expected) resolve(got);
      });
    });
  }

  describe(`bus: ${name}`, () => {
    it("delivers to the role on the node, and says who sent it", async () => {
      const bus = makeBus();
      const received = collect(bus, 1);
      bus.send({ node: bus.node, role: "api" }, final("a"));
      assert.deepEqual(await received, [{ from: bus.node, message: final("a") }]);
    });

    it("never delivers within send", async () => {
      const bus = makeBus();
      let isSending = true;
      const received = new Promise<void>((resolve, reject) => {
        bus.listen("api", () => (isSending ? reject(new Error("delivered within send")) : resolve()));
      });
      bus.send({ node: bus.node, role: "api" }, final("a"));
      isSending = false;
      await received;
    });

    it("goes on after a listener has left and another has come", async () => {
      const bus = makeBus();
      const end = bus.listen("api", () => assert.fail("it has left"));
      end();
      assert.deepEqual(bus.nodes("api"), []);
      const received = collect(bus, 1);
      bus.send({ node: bus.node, role: "api" }, final("b"));
      assert.equal((await received).length, 1);
    });

    it("knows who has a role, and who owns what was announced", () => {
      const bus = makeBus();
      bus.listen("gateway", () => undefined);
      assert.deepEqual(bus.nodes("gateway"), [bus.node]);
      assert.equal(bus.ownerOf(7), null);
      const owns = (...shards: number[]) => {
        const owned = shards.map((shard) => ({ shard, epoch: 1 }));
        bus.send({ node: bus.node, role: "api" }, { kind: "OWNER", term: 1, shards: owned });
      };
      owns(7, 8);
      assert.deepEqual([bus.ownerOf(7), bus.ownerOf(9)], [bus.node, null]);
      owns();
      assert.equal(bus.ownerOf(7), null);
    });

    it("loses what is for a node that nobody knows, and complains to nobody", () => {
      makeBus().send({ node: "gone", role: "api" }, final("a"));
    });
  });
}
