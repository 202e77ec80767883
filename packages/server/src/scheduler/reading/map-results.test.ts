import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ExecutionState } from "../../domain/execution.ts";
import type { KeptNodes } from "../../domain/workflow/kept-nodes.ts";
import type { MapCount } from "../../domain/workflow/map-counts.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { encodeTemplate } from "../../ports/references/template.ts";
import { type Filled, References } from "./references.ts";

const RUN = "01890a5d-ac96-774b-8cce-b302099a8057";
const BASE = "01890a5d-ac96-774b-8cce-b302099a8058";
const MAP = 3;

type Items = Record<number, string | null | Exclude<ExecutionState, "SUCCEEDED">>;

interface Scene {
  size?: MapCount["items"];
  /** Results or states of items by run. */
  items?: Record<string, Items>;
  kept?: KeptNodes[];
}

/** References to the results of a map of RUN. */
function scene({ size, items = {}, kept = [] }: Scene) {
  let reads = 0;
  let read = 0;
  const all = new Map<string, { state: ExecutionState; result: Uint8Array | null }>();
  for (const [run, of] of Object.entries(items)) {
    for (const [item, end] of Object.entries(of)) {
      const isState = ["DEAD", "CANCELLED", "RUNNING", "PENDING", "SKIPPED"].includes(end ?? "");
      const state = isState ? (end as ExecutionState) : "SUCCEEDED";
      const result = isState || end === null ? null : Buffer.from(end);
      all.set(nodeExecutionId(run, MAP, Number(item), 0), { state, result });
    }
  }
  const unused = () => Promise.reject(new Error("no test reads this"));
  const runs: ConstructorParameters<typeof References>[0]["runs"] = {
    ...{
      load: unused,
      results: async () => new Map(),
      items: unused,
      origins: unused,
      openRuns: unused,
      retry: unused,
    },
    kept: async () => new Map(kept.length > 0 ? [[RUN, kept]] : []),
    mapCounts: async () => new Map(size === undefined ? [] : [[RUN, [{ node: MAP, items: size }]]]),
    ends: async (ids, bytes) => {
      reads++;
      assert.ok(ids.length <= 1_000);
      const byId = new Map<string, { state: ExecutionState; result: Uint8Array | null }>();
      let sum = 0;
      for (const [place, id] of ids.entries()) {
        const found = all.get(id);
        if (found === undefined) continue;
        byId.set(id, found);
        read++;
        sum += found.result?.length ?? 0;
        if (sum >= bytes) return { byId, looked: place + 1 };
      }
      return { byId, looked: ids.length };
    },
  };
  const references = new References({ payloads: unused, runs }, new ManualRuntime());
  const text = Buffer.from('{"parts":{"$results":"each"}}');
  const stored = encodeTemplate({ text, edits: [{ at: { start: 9, end: 28 }, depth: 1, results: MAP }] });
  const fill = async () => {
    const [filled] = await references.resolve([{ run: RUN, item: null, stored }]);
    return shown(filled as Filled);
  };
  return {
    fill,
    ends: (id: string, end: string) => all.set(id, { state: "SUCCEEDED", result: Buffer.from(end) }),
    counts,
  };

  function counts() {
    return { reads, read };
  }
}

function shown(filled: Filled): string {
  return filled instanceof Uint8Array ? Buffer.from(filled).toString() : `${filled.reason}: ${filled.error.message}`;
}

describe("the results of a map", () => {
  it("are a list in the order of the items, with null where an item has not succeeded", async () => {
    const items = { [RUN]: { 4: " 1.50 ", 0: '{"a":1}', 1: "DEAD", 2: null, 5: "CANCELLED" } as Items };
    const { fill } = scene({ size: 7, items });
    assert.equal(await fill(), '{"parts":[{"a":1},null,null,null, 1.50 ,null,null]}');
  });

  it("are an empty list for a map without items, and null for one whose items were not counted", async () => {
    assert.equal(await scene({ size: 0 }).fill(), '{"parts":[]}');
    assert.equal(await scene({}).fill(), '{"parts":null}');
    const size = { reason: "TOO_MANY_ITEMS", error: { name: "TooManyItems", message: "" } } as const;
    assert.equal(await scene({ size }).fill(), '{"parts":null}');
  });

  it("come from the earlier run for the items that the run keeps, and from the run itself for the others", async () => {
    const kept = [{ run: BASE, nodes: [], items: [[MAP, "0-1,3"]] as const }];
    const items = { [BASE]: { 0: '"old"', 1: "1", 2: "DEAD", 3: "3" }, [RUN]: { 0: '"never"', 2: '"own"' } };
    assert.equal(await scene({ size: 4, items, kept }).fill(), '{"parts":["old",1,"own",3]}');
  });

  it("are read once when every item has ended, and again while one has not", async () => {
    const over = scene({ size: 2, items: { [RUN]: { 0: "0", 1: "DEAD" } } });
    assert.deepEqual([await over.fill(), await over.fill()], Array(2).fill('{"parts":[0,null]}'));
    assert.equal(over.counts().reads, 1);
    const open = scene({ size: 2, items: { [RUN]: { 0: "0", 1: "RUNNING" } } });
    assert.equal(await open.fill(), '{"parts":[0,null]}');
    open.ends(nodeExecutionId(RUN, MAP, 1, 0), "7");
    assert.equal(await open.fill(), '{"parts":[0,7]}');
  });

  it("may have 1 MiB together with the payload, and the reads stop as soon as they have more", async () => {
    const half = JSON.stringify("x".repeat(524_280));
    const two = (extra: string): Items => ({ 0: half, 1: extra });
    const around = '{"parts":[,]}'.length;
    const rest = JSON.stringify("x".repeat(1024 * 1024 - half.length - around - 2));
    assert.equal((await scene({ size: 2, items: { [RUN]: two(rest) } }).fill()).length, 1024 * 1024);
    const many: Items = Object.fromEntries(Array.from({ length: 9 }, (_, item) => [item, half]));
    const large = scene({ size: 5_000, items: { [RUN]: many } });
    const message = await large.fill();
    assert.match(
      message,
      /^REFERENCES_TOO_LARGE: the reference \{"\$results":"each"\} stands for more than 1048576 bytes/,
    );
    assert.match(message, new RegExp(`GET /v1/workflows/${RUN}/results\\?node=each`));
    assert.deepEqual(large.counts(), { reads: 1, read: 3 });
  });

  it("of 100,000 items are a list", async () => {
    const { fill } = scene({ size: 100_000, items: { [RUN]: { 99_999: "7" } } });
    const { parts } = JSON.parse(await fill()) as { parts: unknown[] };
    assert.deepEqual([parts.length, parts[99_998], parts[99_999]], [100_000, null, 7]);
  });
});
