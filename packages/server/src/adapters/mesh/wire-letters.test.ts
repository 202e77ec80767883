import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AT_ONCE_BYTES, LETTER_MAX_BYTES } from "./limits.ts";
import { wireLetters } from "./wire-letters.ts";

const read = (text: string) => [...wireLetters(Buffer.from(text))];
const all = (text: string) => read(text).flat();
const MIB = 1024 * 1024;
/** Texts that look like the end of a text or of a list. */
const TRICKY = ["", "\\", '"', '\\"', "],[", "}{", ',"a":[', "\u00e9\ud83d\ude00", "\n", "\u2028"];
/** That number of items, with every kind of JSON value. */
const items = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    n,
    text: TRICKY[n % TRICKY.length],
    deep: [[], {}, [n / 3, null, true]],
  }));

describe("the letters of a packet", () => {
  it("are those that the whole text has, however long it is, and whatever its texts say", () => {
    const letters = [
      ...Array.from({ length: 3_000 }, (_, n) => ["api", { kind: "FINAL", executionId: TRICKY[n % TRICKY.length] }]),
      ["gateway", { kind: "ACK", tokens: items(5_000), workerId: "w" }],
      ["gateway", { credits: items(2_000), 'a"b': items(3_000), kind: "VOID" }],
      ...TRICKY.map((text) => ["x", text]),
    ];
    for (const text of [JSON.stringify(letters), ` ${JSON.stringify(letters, null, 1)} `]) {
      assert.deepEqual(all(text), JSON.parse(text));
    }
  });

  it("come in steps that parse little each", () => {
    const steps = read(JSON.stringify(items(100_000)));
    assert.ok(steps.length > 50, `${steps.length} steps`);
    for (const step of steps) assert.ok(JSON.stringify(step).length <= AT_ONCE_BYTES);
  });

  it("are several where their list may come as several", () => {
    for (const [kind, list] of Object.entries({ HINT: "rows", ASSIGN: "assigns", FINISHED: "results" })) {
      const whole = { kind, [list]: items(10_000), more: 7 };
      const letters = all(JSON.stringify([["scheduler", whole]])) as [string, Record<string, unknown[]>][];
      assert.ok(letters.length > 5);
      for (const [role, { kind: name, more }] of letters) assert.deepEqual([role, name, more], ["scheduler", kind, 7]);
      assert.deepEqual(
        letters.flatMap(([, message]) => message[list]),
        whole[list],
      );
    }
  });

  it("are whole where a member is an object, a text or a list in an object, and long", () => {
    const deep = { part: { lines: items(5_000), 'of "it": all': { x: "y".repeat(AT_ONCE_BYTES), z: items(3_000) } } };
    const letters = [
      ["api", { kind: "LOGS", request: "r", ...deep, after: 1 }],
      ["scheduler", { kind: "COMMAND", command: { kind: "DELETE", executionIds: items(9_000), jobId: "j" } }],
      ["api", { kind: "A", text: "\\u2028".repeat(AT_ONCE_BYTES), list: [[items(3_000)], [[items(3_000)]]] }],
    ];
    for (const text of [JSON.stringify(letters), JSON.stringify(letters, null, 1)])
      assert.deepEqual(all(text), JSON.parse(text));
    const own = all(`[["a",{"__proto__":{"x":"${"y".repeat(AT_ONCE_BYTES)}"}}]]`) as [string, object][];
    assert.deepEqual(Object.keys(own[0]?.[1] ?? {}), ["__proto__"]);
  });

  it("are refused where they are nested so deeply that they cannot be divided", () => {
    const nested = `${"[".repeat(MIB)}${"]".repeat(MIB)}`;
    assert.throws(() => all(`[["a",{"b":${nested}}]]`), /too large/);
  });

  it("are dropped one by one where they are too large to be read, and the others are not", () => {
    const large = ["gateway", { kind: "ACK", tokens: items(LETTER_MAX_BYTES / 40) }];
    assert.deepEqual(all(JSON.stringify([["a", {}], large, ["b", {}]])), [["a", {}], null, ["b", {}]]);
    assert.deepEqual(all(JSON.stringify([["a", {}, "x".repeat(AT_ONCE_BYTES)]])), [null]);
  });

  const BAD = ["", "1", "{}", "[", "[}", "[1", '["', '["\\"]', "[1]2", "[1,,2]", "[a]", `["${"x".repeat(MIB)}"]`];
  const LONG = `"${"x".repeat(AT_ONCE_BYTES)}"`;
  for (const text of [
    ...BAD,
    `[${LONG}]`,
    `[["a",{${LONG}}]]`,
    `[["a",{"b":${LONG.repeat(2)}}]]`,
    `[["a",[${LONG}]]]`,
  ]) {
    it(`are none where the text is ${text.slice(0, 12)} (${text.length} characters)`, () => {
      assert.throws(() => all(text), SyntaxError);
    });
  }
});
