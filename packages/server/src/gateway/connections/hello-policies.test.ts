import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Feature } from "@mainspring/proto";
import type { DeclaredHandler } from "../../ports/store-handlers.ts";
import { ManualRuntime, NODE, Stage } from "../gateway.fixture.ts";

const AUTHORITY = Feature.AUTHORITY;
const features = Feature.AUTHORITY | Feature.POLICIES;
const declares = (handler: string, text = '{"timeoutSec":5}') => ({ handler, policies: Buffer.from(text) });

/** A gateway with a keeper that takes any JSON, and what it was given. */
function stage() {
  const kept: DeclaredHandler[] = [];
  const stage = new Stage(NODE, new ManualRuntime(), {
    read: (_pool, handler, text) =>
      text.length === 0
        ? { fault: `the task ${JSON.stringify(handler)}: wrong` }
        : { isHome: false, policies: Buffer.from(text).toString(), unknown: [] },
    keep: (declared) => void kept.push(...declared),
  });
  const offers = () => {
    stage.bus.deliver(NODE, [{ kind: "LIST_HANDLERS", request: "r" }]);
    const answer = stage.answers().at(-1);
    assert.ok(answer?.kind === "HANDLERS" && answer.isWhole);
    return answer.offers;
  };
  return { stage, kept, offers };
}

describe("policies in a hello", () => {
  it("are kept, with an empty row for handlers that declare nothing", () => {
    const { stage: at, kept } = stage();
    at.connect().hello({ features, pool: "p", handlers: ["a", "b", "a"], policies: [declares("b")] });
    const common = { pool: "p", isHome: false, isNews: true };
    assert.deepEqual(kept, [
      { ...common, handler: "a", policies: "{}" },
      { ...common, handler: "b", policies: '{"timeoutSec":5}' },
    ]);
  });

  it("are no news from a worker that comes back", () => {
    const { stage: at, kept } = stage();
    at.connect().hello({ features, policies: [declares("echo")], returning: true });
    assert.deepEqual(
      kept.map(({ isNews }) => isNews),
      [false],
    );
  });

  it("of a worker of the release before are not looked for: what is kept stays", () => {
    const { stage: at, kept, offers } = stage();
    const worker = at.connect().hello({ features: AUTHORITY });
    assert.deepEqual([worker.closedWith, worker.received.length, kept], [null, 1, []]);
    assert.deepEqual(offers(), [{ pool: "default", handler: "echo", workers: 1, declared: [] }]);
  });

  it("are passed over by a gateway that keeps none", () => {
    const at = new Stage();
    const worker = at.connect().hello({ features, policies: [declares("nobody", "")] });
    assert.deepEqual([worker.closedWith, worker.received.length], [null, 1]);
  });

  it("are refused with a sentence, and the worker is not taken", () => {
    const refusals: [object, RegExp][] = [
      [{ policies: [declares("echo", "")] }, /^policies: the task "echo": wrong$/],
      [{ policies: [declares("other")] }, /"other" is none of the handlers, or is named twice/],
      [{ policies: [declares("echo"), declares("echo")] }, /"echo" is none of the handlers, or is named twice/],
      [{ policies: [declares("echo", " ".repeat(262_145))] }, /at most 262144 bytes are allowed in all, not 262145/],
    ];
    for (const [hello, detail] of refusals) {
      const { stage: at, kept, offers } = stage();
      const worker = at.connect().hello({ features, ...hello });
      assert.equal(worker.closedWith?.code, "INVALID_ARGUMENT");
      assert.match(worker.closedWith?.detail ?? "", detail);
      assert.deepEqual([kept, offers()], [[], []]);
    }
  });
});

describe("handlers that a gateway lists", () => {
  it("are counted by what their workers declare, as workers come, drain and are lost", () => {
    const { stage: at, offers } = stage();
    const one = at.connect().hello({ workerId: "w1", features, policies: [declares("echo", "{1}")] });
    const two = at.connect().hello({ workerId: "w2", features, policies: [declares("echo", "{2}")] });
    at.connect().hello({ workerId: "w3", features: AUTHORITY, handlers: ["echo", "other"] });
    const variant = (policies: string) => ({ isHome: false, policies, workers: 1 });
    const other = { pool: "default", handler: "other", workers: 1, declared: [] };
    const echo = { pool: "default", handler: "echo", workers: 3, declared: [variant("{1}"), variant("{2}")] };
    assert.deepEqual(offers(), [echo, other]);

    one.say({ draining: true });
    assert.deepEqual(offers(), [{ ...echo, workers: 2, declared: [variant("{2}")] }, other]);
    one.breakOff();
    two.breakOff();
    const back = at.connect().hello({ workerId: "w2", features, policies: [declares("echo", "{2}")], returning: true });
    assert.deepEqual(offers(), [{ ...echo, workers: 2, declared: [variant("{2}")] }, other]);
    back.breakOff();
    at.runtime.advance(29_000);
    assert.deepEqual(offers(), [{ ...echo, workers: 1, declared: [] }, other]);
    at.runtime.advance(60_000);
    assert.deepEqual(offers(), []);
  });
});
