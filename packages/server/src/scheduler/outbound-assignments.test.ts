import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry } from "../engine/entry.ts";
import { ManualRuntime, settled } from "../ports/manual-runtime.fixture.ts";
import type { Assignment } from "../ports/messages.ts";
import { OutboundAssignments } from "./outbound-assignments.ts";

describe("an assignment on its way out", () => {
  /** @param readings results of the reads of payloads, in order; after them, payloads are available */
  const scene = (readings: Promise<"all" | "none">[] = []) => {
    const runtime = new ManualRuntime();
    /** Ids of executions whose assignments were sent, and of those whose credits were given back. */
    const [sent, freed, given]: [string[], string[], string[]] = [[], [], []];
    const error = { name: "ReferenceNotFound", message: "nothing there" };
    const entries = new Map<string, Entry>();
    const outbound = new OutboundAssignments({
      state: { entries },
      runtime,
      payloads: {
        attach: (assigns) =>
          readings
            .shift()
            ?.then((sendable) =>
              sendable === "all" ? [] : assigns.map((assign) => ({ assign, reason: "REFERENCE_NOT_FOUND", error })),
            ) ?? null,
      },
      give: (unsendable) => {
        for (const { executionId, reason } of unsendable) given.push(`${executionId} ${reason}`);
      },
      log: { warn: () => undefined },
      bus: {
        send: (_to, message) => {
          if (message.kind === "ASSIGN") sent.push(...message.assigns.map(({ executionId }) => executionId));
          if (message.kind === "VOID") freed.push(...message.credits.map((credit) => String.fromCharCode(credit)));
        },
      },
    });
    const assign = (id: string, dueAt = 0) => {
      entries.set(id, { place: "ASSIGNED", row: { attempt: 1, dueAt } } as Entry);
      return { executionId: id, attempt: 1, gateway: "g", credit: id.charCodeAt(0) } as Assignment;
    };
    const end = (id: string) => entries.delete(id);
    return { runtime, outbound, assign, end, sent, freed, given };
  };

  it("leaves at once where its payload is at hand", () => {
    const { outbound, assign, sent } = scene();
    void outbound.send([assign("a"), assign("b")]);
    assert.deepEqual(sent, ["a", "b"]);
  });

  it("does not leave if it ended while its commit was under way, and its slot is given back", () => {
    const { outbound, assign, end, sent, freed } = scene();
    const assigns = [assign("a"), assign("b")];
    end("a");
    void outbound.send(assigns);
    assert.deepEqual([sent, freed], [["b"], ["a"]]);
  });

  it("does not leave if it ended while its payload was read", async () => {
    const reading = Promise.withResolvers<"all">();
    const { outbound, assign, end, sent, freed } = scene([reading.promise]);
    void outbound.send([assign("a"), assign("b")]);
    end("a");
    reading.resolve("all");
    await settled();
    assert.deepEqual([sent, freed], [["b"], ["a"]]);
  });

  it("does not leave if it ended before a read that had failed was to be repeated, even if its payload has come otherwise", async () => {
    const { runtime, outbound, assign, end, sent } = scene([Promise.reject(new Error("the store is down"))]);
    void outbound.send([assign("a"), assign("b")]);
    await settled();
    end("a");
    await runtime.advance(1_000);
    assert.deepEqual(sent, ["b"]);
  });

  it("does not leave if its payload cannot be made: the machine hears of it, and its slot is given back", async () => {
    const { outbound, assign, sent, freed, given } = scene([Promise.resolve("none")]);
    void outbound.send([assign("a")]);
    await settled();
    assert.deepEqual([sent, freed, given], [[], ["a"], ["a REFERENCE_NOT_FOUND"]]);
  });

  it("waits until it is due, and does not leave if it ended by then", async () => {
    const { runtime, outbound, assign, end, sent, freed } = scene();
    const dueAt = runtime.now() + 5;
    void outbound.send([assign("a", dueAt), assign("b", dueAt), assign("c")]);
    assert.deepEqual(sent, ["c"]);
    end("a");
    await runtime.advance(5);
    assert.deepEqual([sent, freed], [["c", "b"], ["a"]]);
  });

  it("waits no second time where the store's clock is set back while it waits", async () => {
    const { runtime, outbound, assign, sent } = scene();
    void outbound.send([assign("a", runtime.now() + 5)]);
    const now = runtime.now();
    runtime.now = () => now - 3_600_000;
    await runtime.advance(5);
    assert.deepEqual(sent, ["a"]);
  });

  it("keeps the slot of a repeated assignment that ended: the first one may have arrived", () => {
    const { outbound, assign, end, sent, freed } = scene();
    const assigns = [assign("a"), assign("b")];
    end("a");
    outbound.resend(assigns);
    assert.deepEqual([sent, freed], [["b"], []]);
  });

  it("does not leave once the ownership is over, nor is a slot given back", async () => {
    const { runtime, outbound, assign, end, sent, freed } = scene();
    void outbound.send([assign("a", runtime.now() + 5), assign("b", runtime.now() + 5)]);
    end("a");
    outbound.stop();
    await runtime.advance(5);
    assert.deepEqual([sent, freed], [[], []]);
  });
});
