import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { UnstorableValue } from "../../../ports/storable.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { startTestServer, type TestServer, testConnections } from "../testing/databases.ts";
import { type ArrayParam, bools, byteas, float8s, int2s, int4s, int8s, texts, uuids } from "./arrays.ts";
import type { Connections } from "./connections.ts";

type Encode<V> = (rows: readonly (V | null)[], get: (row: V | null) => V | null) => ArrayParam;

const same = <V>(value: V) => value;

describe("array parameters", () => {
  let server: TestServer;
  let db: Connections;
  before(async () => {
    server = await startTestServer();
    const runtime = systemRuntime();
    const connection = await server.newDatabase();
    db = testConnections(connection, runtime);
  });
  after(async () => {
    await db.close();
    await server.stop();
  });

  it("arrive as what they were, NULLs included", async () => {
    const text = fc.string({ unit: "binary", maxLength: 20 }).filter((value) => !value.includes("\u0000"));
    await assertArrives("int2", int2s, fc.integer({ min: -32_768, max: 32_767 }));
    await assertArrives("int4", int4s, fc.integer());
    await assertArrives("int8", int8s, fc.maxSafeInteger());
    await assertArrives("float8", float8s, fc.double({ noDefaultInfinity: true, noNaN: true }));
    await assertArrives("bool", bools, fc.boolean());
    await assertArrives("text", texts, text);
    await assertArrives(
      "bytea",
      byteas,
      fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
    );
  });

  it("arrive in their order when they are ids", async () => {
    const runtime = systemRuntime();
    const ids = Array.from({ length: 10 }, () => runtime.uuid());
    assert.deepEqual(await elements("uuid", uuids(ids, same)), ids);
    assert.deepEqual(await elements("uuid", uuids([], same)), []);
    assert.deepEqual(await elements("uuid", uuids([null, ...ids, null], same)), [null, ...ids, null]);
  });

  it("are refused where a number does not fit, rather than cut", () => {
    assert.throws(() => int2s([32_768], same), UnstorableValue);
    assert.throws(() => int4s([2 ** 31], same), UnstorableValue);
    assert.throws(() => int4s([0.5], same), UnstorableValue);
    assert.throws(() => int8s([2 ** 53], same), UnstorableValue);
    assert.throws(() => int8s([Number.NaN], same), UnstorableValue);
    assert.throws(() => float8s([Number.POSITIVE_INFINITY], same), UnstorableValue);
  });

  async function assertArrives<V>(type: string, encode: Encode<V>, values: fc.Arbitrary<V>): Promise<void> {
    const property = fc.asyncProperty(fc.array(fc.option(values), { maxLength: 20 }), async (list) => {
      const param = encode(list, same);
      // A column that has only NULLs is NULL itself and gives no rows.
      assert.deepEqual(await elements(type, param), list.every((value) => value === null) ? [] : list);
    });
    await fc.assert(property, { numRuns: 50 });
  }

  async function elements(type: string, param: ArrayParam): Promise<unknown[]> {
    const rows = await db.run("query", { text: `SELECT unnest($1::${type}[])`, values: [param] });
    return rows.map(([value]) => value);
  }
});
