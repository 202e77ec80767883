import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAP_ITEMS_MAX } from "@mainspring/contract/limits";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { encodeTemplate, INPUT, type ReferenceEdit, type Template } from "../../ports/references/template.ts";
import { numberOf, type ScannedEdit, scanningTemplate } from "../../ports/references/template-scan.ts";
import { type Filled, References } from "./references.ts";

const RUN = "01890a5d-ac96-774b-8cce-b302099a8057";
const OTHER = "01890a5d-ac96-774b-8cce-b302099a8058";
/** Runs of sub-workflows: of the item 1 of the map 5 of RUN, and of the node 3 of that run. */
const CHILD = nodeExecutionId(RUN, 5, 1, 0);
const GRANDCHILD = nodeExecutionId(CHILD, 3, null, 0);
const ORIGINS = new Map([
  [CHILD, { run: RUN, node: 5, item: 1 }],
  [GRANDCHILD, { run: CHILD, node: 3, item: null }],
]);

/** Stored bytes of a template; the nodes a, b, c … have the numbers 0, 1, 2 … */
function stored(text: string): Uint8Array {
  const numbers = new Map([..."abcdefghij"].map((name, number) => [name, number]));
  const steps = scanningTemplate(Buffer.from(text));
  for (;;) {
    const { done, value } = steps.next();
    if (done !== true) continue;
    assert.ok("edits" in value, JSON.stringify(value));
    const edits = value.edits.map((edit) =>
      "from" in edit
        ? ({ ...edit, from: numberOf(edit.from, numbers) ?? INPUT } as ReferenceEdit)
        : ofMap(edit, numbers),
    );
    return encodeTemplate({ text: Buffer.from(text), edits });
  }
}

/** The map's array is the list in the result of the node a. */
function ofMap(
  edit: Exclude<ScannedEdit, { from: string }>,
  numbers: ReadonlyMap<string, number>,
): Template["edits"][number] {
  if ("results" in edit) return { ...edit, results: numbers.get(edit.results) ?? INPUT };
  return "item" in edit ? { ...edit, from: 0, path: ["list"] } : edit;
}

type Results = Record<number, string | null>;

/**
 * @param results results of the nodes of RUN that succeeded, by number
 * @param earlier the same of OTHER; RUN keeps the node 1 of it
 */
function scene(results: Results = {}, inputs: Record<string, string | Uint8Array> = {}, earlier: Results = {}) {
  const reads: string[][] = [];
  const keptReads: string[][] = [];
  const rowsOf = (run: string, of: Results) =>
    Object.entries(of).map(([node, json]) => [nodeExecutionId(run, Number(node), null, 0), json] as const);
  const rows = new Map([...rowsOf(RUN, results), ...rowsOf(OTHER, earlier)]);
  const found = <T>(all: ReadonlyMap<string, T>, ids: readonly string[]) => {
    reads.push([...ids]);
    return new Map(ids.flatMap((id) => (all.has(id) ? [[id, all.get(id) as T] as const] : [])));
  };
  const bytes = (json: string | null) => (json === null ? null : Buffer.from(json));
  const references = new References(
    {
      payloads: async (ids) => found(new Map(Object.entries(inputs).map(([id, json]) => [id, Buffer.from(json)])), ids),
      runs: {
        results: async (ids) => found(new Map([...rows].map(([id, json]) => [id, bytes(json)])), ids),
        load: async () => [],
        kept: async (runs) => {
          keptReads.push([...runs]);
          return new Map([[RUN, [{ run: OTHER, nodes: [[1, null]] }]]]);
        },
        mapCounts: async () => new Map(),
        ends: async () => ({ byId: new Map(), looked: 0 }),
        items: async () => new Map(),
        origins: async (ids) => found(ORIGINS, ids),
        openRuns: async () => [],
        retry: () => Promise.reject(new Error("no test retries a run")),
      },
    },
    new ManualRuntime(),
  );
  const fill = async (...texts: string[]) => {
    return (await references.resolve(texts.map((text) => ({ run: RUN, item: null, stored: stored(text) })))).map(shown);
  };
  return { references, fill, reads, keptReads };
}

function shown(filled: Filled): string {
  return filled instanceof Uint8Array ? Buffer.from(filled).toString() : `${filled.reason}: ${filled.error.message}`;
}

describe("references in payloads", () => {
  it("get the result of their node, or the part at their path, with its bytes as they are", async () => {
    const { fill } = scene({ 0: ' {"rows": [10, 12345678901234567890, {"x": 1.50}]} ', 1: '"b"' });
    assert.deepEqual(await fill('{"$from":"a"}'), ['{"rows": [10, 12345678901234567890, {"x": 1.50}]}']);
    const payload = '[ {"$from":"a","path":["rows",1]}, {"n":{"$from":"b"}}, {"$from":"a","path":["rows",2,"x"]} ]';
    assert.deepEqual(await fill(payload), ['[ 12345678901234567890, {"n":"b"}, 1.50 ]']);
  });

  it("get the input of their own run", async () => {
    const { references } = scene({}, { [RUN]: '{"day": "monday"}', [OTHER]: '{"day": "tuesday"}' });
    const template = stored('{"d":{"$from":"$input","path":["day"]}}');
    const filled = await references.resolve([RUN, OTHER].map((run) => ({ run, item: null, stored: template })));
    assert.deepEqual(filled.map(shown), ['{"d":"monday"}', '{"d":"tuesday"}']);
  });

  it("get the input of a sub-workflow's run: the payload of its node, with the values of the run of that node", async () => {
    const inputs = {
      [RUN]: '{"day":"monday"}',
      [CHILD]: stored('{"day":{"$from":"$input","path":["day"]},"item":{"$item":true}}'),
      [GRANDCHILD]: stored('[{"$from":"$input"}]'),
    };
    const { references } = scene({ 0: '{"list":[7,8]}' }, inputs);
    const template = stored('{"$from":"$input","path":[0,"item"]}');
    const resolve = async (run: string, text: Uint8Array) =>
      (await references.resolve([{ run, item: null, stored: text }])).map(shown);
    assert.deepEqual(await resolve(GRANDCHILD, template), ["8"]);
    assert.deepEqual(await resolve(GRANDCHILD, stored('{"$from":"$input"}')), ['[{"day":"monday","item":8}]']);
    assert.equal(await references.count(GRANDCHILD, { from: INPUT, path: [] }), 1);
  });

  it("tell the input of a sub-workflow's run from the result of its node", async () => {
    const inputs = { [RUN]: '"in"', [CHILD]: stored('{"$from":"$input"}'), [GRANDCHILD]: stored('{"$from":"$input"}') };
    const { references } = scene({}, inputs, {});
    // GRANDCHILD is the execution of the node 3 ("d") of CHILD, and a run with an input of its own.
    const both = [
      { run: GRANDCHILD, item: null, stored: stored('{"$from":"$input"}') },
      { run: CHILD, item: null, stored: stored('[{"$from":"d"},{"$from":"$input"}]') },
    ];
    for (let time = 0; time < 2; time++)
      assert.deepEqual((await references.resolve(both)).map(shown), ['"in"', '[null,"in"]'], `time ${time}`);
  });

  it("that need the input of a sub-workflow fail for the reason why it has none", async () => {
    const { references } = scene({}, { [RUN]: "[]", [CHILD]: stored('{"$from":"$input","path":["x"]}') });
    const wanted = [{ run: CHILD, item: null, stored: stored('[{"$from":"$input"}]') }];
    assert.match((await references.resolve(wanted)).map(shown)[0] ?? "", /^REFERENCE_NOT_FOUND: .*"path":\["x"\]/);
    const counted = await references.count(CHILD, { from: INPUT, path: [] });
    assert.equal(typeof counted === "object" && counted.reason, "REFERENCE_NOT_FOUND");
  });

  it("are null for a node that has no result, whatever the path", async () => {
    const { fill } = scene({ 0: null });
    assert.deepEqual(await fill('[{"$from":"b"},{"$from":"b","path":["x",0]},{"$from":"a"}]'), ["[null,null,null]"]);
  });

  it("get the result of a node that the run keeps from an earlier run, and of no other node of that run", async () => {
    const { fill } = scene({ 0: '"own"' }, {}, { 0: '"old"', 1: '{"rows":[7]}', 2: '"not kept"' });
    const payload = '[{"$from":"a"},{"$from":"b","path":["rows",0]},{"$from":"c"},{"$from":"b"}]';
    assert.deepEqual(await fill(payload), ['["own",7,null,{"rows":[7]}]']);
  });

  it("ask once for the nodes that a run keeps, until everything is forgotten", async () => {
    const { fill, references, keptReads } = scene({}, {}, { 1: "7" });
    assert.deepEqual([await fill('{"$from":"b"}'), await fill('{"$from":"c"}')], [["7"], ["null"]]);
    assert.deepEqual(keptReads, [[RUN]]);
    references.forget();
    assert.deepEqual([await fill('{"$from":"b"}'), keptReads], [["7"], [[RUN], [RUN]]]);
  });

  it("leave a literal as it is, and payloads without references too", async () => {
    const { fill, references, reads } = scene();
    assert.deepEqual(await fill('[{"$literal": {"$from":"a"} }]'), ['[{"$from":"a"}]']);
    const plain = [{ run: RUN, item: null, stored: Buffer.from("7") }];
    assert.deepEqual(await references.resolve(plain), [Buffer.from("7")]);
    assert.deepEqual(reads, []);
  });

  it("that lead nowhere in a result that is there are named with node and path", async () => {
    const { fill } = scene({ 0: '{"rows":[1]}', 1: null });
    const reference = '{"$from":"a","path":["rows",1]}';
    const message = `the reference ${reference} leads nowhere: the result of the node has nothing at this path`;
    assert.deepEqual(await fill(`[1,${reference}]`, '{"$from":"a","path":["rows",0]}'), [
      `REFERENCE_NOT_FOUND: ${message}`,
      "1",
    ]);
    assert.match((await fill('{"$from":"b","path":["x"]}'))[0] ?? "", /^REFERENCE_NOT_FOUND/);
    const input = scene({}, { [RUN]: "[]" });
    assert.match((await input.fill('{"$from":"$input","path":[0]}'))[0] ?? "", /^REFERENCE_NOT_FOUND.*the input has/);
  });

  it("may make a payload of 1 MiB, and no larger one", async () => {
    const half = "x".repeat(512 * 1024 - 4);
    const { fill } = scene({ 0: JSON.stringify(half) });
    const [whole] = await fill('[{"$from":"a"},{"$from":"a"}]');
    assert.equal(whole?.length, 1024 * 1024 - 1);
    assert.match(
      (await fill('["abc",{"$from":"a"},{"$from":"a"}]'))[0] ?? "",
      /^REFERENCES_TOO_LARGE: .* 1048576 bytes/,
    );
    assert.match((await fill('["ab",{"$from":"a"},{"$from":"a"}]'))[0] ?? "", /^REFERENCES_TOO_LARGE/);
  });

  it("may nest a payload 128 levels deep, and no deeper", async () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    const { fill } = scene({ 0: nested(126), 1: nested(127), 2: `[${nested(126)},7]` });
    const [deep, tooDeep, part] = await fill(
      '{"n":[{"$from":"a"}]}',
      '{"n":[{"$from":"b"}]}',
      '[[[{"$from":"c","path":[1]}]]]',
    );
    assert.equal(deep, `{"n":[${nested(126)}]}`);
    assert.match(tooDeep ?? "", /^REFERENCES_TOO_LARGE: .*128 levels/);
    assert.equal(part, "[[[7]]]", "the depth of the part counts, not that of the whole result");
  });

  it("read each result once, however many payloads refer to it, and not again later", async () => {
    const { fill, reads } = scene({ 0: "[1,2]", 1: "2" });
    await fill('{"$from":"a","path":[0]}', '[{"$from":"a","path":[1]},{"$from":"b"}]', '{"$from":"a"}');
    await fill('{"$from":"b"}', '{"$from":"a"}');
    assert.deepEqual(reads, [[0, 1].map((node) => nodeExecutionId(RUN, node, null, 0))]);
  });

  it("read a result again when they have forgotten it", async () => {
    const { fill, references, reads } = scene({ 0: "1" });
    await fill('{"$from":"a"}');
    references.forget();
    await fill('{"$from":"a"}');
    assert.equal(reads.length, 2);
  });

  it("keep nothing of a read that is under way when they forget", async () => {
    const { fill, references, reads } = scene({ 0: "[1]" });
    const filled = fill('{"$from":"a"}');
    references.forget();
    assert.deepEqual(await filled, ["[1]"]);
    await fill('{"$from":"a"}');
    assert.equal(reads.length, 2);
    references.forget();
    const counted = references.count(RUN, { from: 0, path: [] });
    references.forget();
    assert.equal(await counted, 1);
    const last = reads.length;
    await fill('{"$from":"a"}');
    assert.equal(reads.length, last + 1);
  });

  it("read a node again that had no result, which may have ended since", async () => {
    const { fill, reads } = scene();
    await fill('{"$from":"a"}');
    await fill('{"$from":"a"}');
    assert.equal(reads.length, 2);
  });

  it("read at most 64 results at a time, and keep 64 MiB of them", async () => {
    const big = JSON.stringify("x".repeat(1024 * 1024 - 2));
    const results = Object.fromEntries(Array.from({ length: 100 }, (_, node) => [node, big]));
    const { references, reads } = scene(results);
    const edit = (from: number) => ({ at: { start: 0, end: 2 }, depth: 0, from, path: [] });
    const template = (from: number) => encodeTemplate({ text: Buffer.from("{}"), edits: [edit(from)] });
    const all = Array.from({ length: 100 }, (_, node) => ({ run: RUN, item: null, stored: template(node) }));
    await references.resolve(all);
    assert.deepEqual(
      reads.map(({ length }) => length),
      [64, 36],
    );
    await references.resolve(all.slice(36));
    assert.equal(reads.length, 2, "the last 64 are there");
    await references.resolve(all.slice(35, 36));
    assert.equal(reads.length, 3, "the one before is not");
  });

  it("give each item of a map its own payload", async () => {
    const { references, reads } = scene({ 0: '{"list":[{"a":[1,2]},"é",3]}' });
    const text = '{"all":{"$item":true},"part":{"path":["a",1],"$item":true},"n":[{"$index":true}]}';
    const of = (item: number) => references.resolve([{ run: RUN, item, stored: stored(text) }]);
    assert.deepEqual((await of(0)).map(shown), ['{"all":{"a":[1,2]},"part":2,"n":[0]}']);
    assert.match(String((await of(1)).map(shown)), /REFERENCE_NOT_FOUND.*the item 1 has nothing at this path/);
    const whole = '[{"$item":true},{"$index":true}]';
    const filled = await references.resolve([1, 2].map((item) => ({ run: RUN, item, stored: stored(whole) })));
    assert.deepEqual(filled.map(shown), ['["é",1]', "[3,2]"]);
    assert.equal(reads.length, 1);
  });

  it("count the items of a map, or say why they cannot", async () => {
    const { references } = scene({ 0: '{"list":[{"a":[1,2]},[],3],"none":[],"x":7}', 1: null }, { [RUN]: "[[1],2]" });
    const count = (from: number, ...path: (string | number)[]) => references.count(RUN, { from, path });
    assert.deepEqual(
      [await count(0, "list"), await count(0, "list", 0, "a"), await count(0, "none"), await count(INPUT)],
      [3, 2, 0, 2],
    );
    const reasonOf = async (...asked: Parameters<typeof count>) => {
      const counted = await count(...asked);
      return typeof counted === "number" ? counted : counted.reason;
    };
    assert.equal(await reasonOf(0, "y"), "REFERENCE_NOT_FOUND");
    assert.equal(await reasonOf(0, "x"), "ITEMS_NOT_AN_ARRAY");
    assert.equal(await reasonOf(0), "ITEMS_NOT_AN_ARRAY");
    assert.equal(await reasonOf(1), "ITEMS_NOT_AN_ARRAY");
    assert.equal(await reasonOf(5, "list"), "ITEMS_NOT_AN_ARRAY", "a node without a result has no array");
    const many = scene({ 0: `[${"0,".repeat(MAP_ITEMS_MAX)}0]` }).references;
    const refused = await many.count(RUN, { from: 0, path: [] });
    assert.ok(typeof refused === "object" && refused.reason === "TOO_MANY_ITEMS");
    assert.match(refused.error.message, /100001 items: at most 100000/);
  });
});
