import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { SeriesBody } from "@mainspring/contract";
import { FEATURE_LEVEL, levelOf } from "../../domain/cluster/feature-level.ts";
import { POINT_MS, POINTS } from "../../domain/series/figures.ts";
import { SeriesRing } from "../../domain/series/ring.ts";
import { startTestApi, type TestApi } from "../api.fixture.ts";

const NOW = 1_900_000_000_000;
const NEWEST = NOW / POINT_MS - 1;
const LEASE_MS = 60_000;

describe("the series over HTTP", () => {
  let api: TestApi;
  /** Clock of the API, which lets its nodes add a point before it asks for it. */
  let now = NOW + 2_000;
  let asked = 0;
  const ring = new SeriesRing();
  before(async () => {
    api = await startTestApi(() => now);
    api.bus.listen("node", (envelopes) => {
      for (const { from: node, message } of envelopes) {
        asked++;
        const series = ring.told(message.from, message.until);
        api.bus.send({ node, role: "api" }, { kind: "SERIES", request: message.request, series });
      }
    });
    for (const point of [NEWEST - 2, NEWEST - 1]) {
      ring.add(point, 2, [{ name: "executions_finished_total", label: "SUCCEEDED", value: 30 }]);
    }
    ring.add(NEWEST, 1, [
      { name: "executions_finished_total", label: "SUCCEEDED", value: 7 },
      { name: "attempts_failed_total", label: "charge", value: 2 },
      { name: "dead_letters_total", label: "acme~gpu", value: 2 },
      { name: "backlog_ready", label: "default", value: 12 },
      { name: "backlog_oldest_seconds", label: "default", value: 3.5 },
      { name: "lateness_seconds", label: "default", bucket: 5, value: 10 },
      { name: "owned_shards", label: "", value: 64 },
    ]);
  });
  after(() => api.stop());

  const read = async () => (await api.inject({ url: "/v1/series" })).json<SeriesBody>();
  const lives = (incarnation: string, level: number) => {
    const name = `${incarnation}.example:8081`;
    const said = { incarnation, name, address: name, roles: ["scheduler"] as const, version: "1", startedAt: 1 };
    return api.leases.renew({ ...said, level }, LEASE_MS);
  };

  it("are an hour of points, with null where no node told, and with the nodes that a point lacks", async () => {
    const series = await read();
    assert.equal(series.nodes.length, POINTS);
    assert.equal(Date.parse(series.from), NOW - POINTS * POINT_MS);
    const last = <T>(values: readonly T[]) => values.slice(-4);
    assert.deepEqual(last(series.nodes), [0, 1, 1, 1]);
    assert.deepEqual(last(series.missing), [0, 1, 1, 0]);
    const finished = series.finished.find(({ state }) => state === "SUCCEEDED");
    assert.deepEqual(last(finished?.counts ?? []), [null, 30, 30, 7]);
    assert.deepEqual(last(series.starts), [null, 0, 0, 10]);
    assert.deepEqual(last(series.p50Ms), [null, null, null, 38]);
    assert.deepEqual(last(series.failures[0]?.counts ?? []), [null, 0, 0, 2]);
    assert.deepEqual(
      series.pools.map(({ pool, owner }) => [pool, owner]),
      [
        ["gpu", "acme"],
        ["default", null],
      ],
    );
    assert.equal(series.pools[1]?.oldestSec.at(-1), 3.5);
    assert.deepEqual(series.silent, []);
  });

  it("tell which alerts would fire, with the section that says what to do", async () => {
    const { alerts } = await read();
    assert.deepEqual(alerts, [
      {
        ...{ name: "MainspringDeadLetters", severity: "TICKET", since: new Date(NOW).toISOString() },
        ...{ summary: "2 new dead letters in pool gpu", pool: "gpu", poolOwner: "acme", node: null },
        runbook: "docs/runbooks/work.md#mainspringdeadletters",
      },
    ]);
  });

  it("are gathered once for all who ask within some seconds", async () => {
    const before = asked;
    await Promise.all([read(), read(), read()]);
    assert.equal(asked, before);
  });

  it("name nodes that did not answer, and nodes whose program keeps no series", async () => {
    await lives("silent", FEATURE_LEVEL);
    await lives("older", levelOf("SERIES") - 1);
    const another = await api.another({ apiKey: null });
    const { silent } = (await another.inject({ url: "/v1/series" })).json<SeriesBody>();
    assert.deepEqual(
      silent.filter(({ address }) => address.endsWith(".example:8081")).map(({ address, reason }) => [address, reason]),
      [
        ["older.example:8081", "OLDER"],
        ["silent.example:8081", "NO_ANSWER"],
      ],
    );
    await another.close();
    for (const node of ["silent", "older"]) await api.leases.release(node);
    now += 1;
  });
});
