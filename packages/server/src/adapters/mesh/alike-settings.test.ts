import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { afterEach, describe, it } from "node:test";
import { pino } from "pino";
import { Cluster } from "./mesh.fixture.ts";

/** A log that keeps its lines. */
function linesOf() {
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const warnings = () => lines.filter(({ msg }) => String(msg).startsWith("another node has other settings"));
  return { log: pino({ level: "warn" }, stream), warnings };
}

describe("settings that must be the same on all nodes", () => {
  const cluster = new Cluster();
  afterEach(() => cluster.close());

  it("are compared when nodes meet: each node warns of another one once, and counts it while it lives", async () => {
    const [here, there] = [linesOf(), linesOf()];
    const own = { MAINSPRING_EVENTS: "api,kafka", MAINSPRING_EVENTS_KEEP_MIN: "60", MAINSPRING_KAFKA_FORMAT: "json" };
    const a = await cluster.startAs("a", { alike: own, log: here.log });
    const same = await cluster.startAs("same", { alike: { ...own, LATER: "x" } });
    const b = await cluster.startAs("b", {
      ...{ alike: { MAINSPRING_EVENTS: "api", MAINSPRING_EVENTS_KEEP_MIN: "60" }, log: there.log },
    });
    cluster.meet();
    await cluster.until(() => a.bus.differing === 1 && b.bus.differing === 2 && same.bus.differing === 1);
    b.wire.reset();
    await cluster.until(() => !a.bus.nodes("gateway").includes("b"));
    await cluster.until(() => a.bus.nodes("gateway").includes("b"));
    const [warning, ...more] = here.warnings();
    assert.deepEqual(more, []);
    assert.deepEqual([warning?.node, warning?.address], ["b", b.address]);
    assert.equal(
      warning?.msg,
      'another node has other settings, which must be the same on all nodes: MAINSPRING_EVENTS is "api" there and "api,kafka" here',
    );
    assert.equal(there.warnings().length, 2);
    await b.kill();
    cluster.meet();
    assert.equal(a.bus.differing, 0);
  });

  it("are not compared with a node that names none, as one of the release before", async () => {
    const a = await cluster.startAs("a", { alike: { MAINSPRING_EVENTS: "api" } });
    const older = await cluster.startAs("older", {});
    cluster.meet();
    const heard = a.heard();
    older.bus.send({ node: "a", role: "api" }, { kind: "FINAL", executionId: "e", state: "SUCCEEDED" });
    await heard;
    assert.deepEqual([a.bus.differing, older.bus.differing], [0, 0]);
  });
});
