import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ALERT_RULES } from "./alert-rules.ts";
import { judged } from "./alerts.ts";
import { POINT_MS, POINTS, SECONDS_BUCKETS, type SeriesColumn, type ToldSeries } from "./figures.ts";
import { MergedSeries } from "./merge.ts";

const MIN = 60_000 / POINT_MS;

/** Series of an hour of one node. @param columns values of the last points; earlier ones are null */
function hour(columns: (Omit<SeriesColumn, "values"> & { last: readonly (number | null)[] })[], seen = 1): ToldSeries {
  const nodes = Array.from({ length: POINTS }, () => seen);
  const shards = { name: "owned_shards", label: "", last: Array.from({ length: POINTS }, () => 64) };
  const all = columns.some(({ name }) => name === shards.name) ? columns : [...columns, shards];
  return {
    from: 0,
    nodes,
    columns: all.map(({ last, ...column }) => {
      return { ...column, values: [...Array.from({ length: POINTS - last.length }, () => null), ...last] };
    }),
  };
}

/** Names, labels and nodes of the alerts that fire. */
function firing(...nodes: ToldSeries[]): string[] {
  return alertsOf(...nodes).map(({ rule, label, node }) => [rule.name, label, node].filter(Boolean).join(" "));
}

function alertsOf(...nodes: ToldSeries[]) {
  const merged = (series: ToldSeries[]) => new MergedSeries(0, POINTS, series);
  const byName = new Map(nodes.map((node, number) => [`n${number + 1}`, merged([node])]));
  return judged(ALERT_RULES, merged(nodes), byName);
}

const steady = (points: number, value: number) => Array.from({ length: points }, () => value);

describe("the alerts that would fire", () => {
  it("are none when all is well", () => {
    assert.deepEqual(firing(hour([])), []);
  });

  it("fire when their condition has held for their time, and not a point earlier", () => {
    const backlog = (points: number) => [{ name: "backlog_oldest_seconds", label: "batch", last: steady(points, 301) }];
    assert.deepEqual(firing(hour(backlog(10 * MIN))), []);
    assert.deepEqual(firing(hour(backlog(10 * MIN + 1))), ["MainspringBacklogOld batch"]);
  });

  it("do not fire over a break of their condition, nor over a point that nobody told of", () => {
    for (const inside of [0, null]) {
      const last = [...steady(10 * MIN, 301), inside, ...steady(5 * MIN, 301)];
      assert.deepEqual(firing(hour([{ name: "backlog_oldest_seconds", label: "batch", last }])), []);
    }
  });

  it("say since when, and with which value", () => {
    const last = [...steady(3, 0), ...steady(12, 5)];
    const [alert] = alertsOf(hour([{ name: "jobs_overdue", label: "", last }]));
    assert.equal(alert?.since, (POINTS - 11) * POINT_MS);
    assert.equal(alert?.rule.says(alert.value, ""), "5 recurring jobs are overdue");
  });

  it("fire on growth for as long as its time reaches back", () => {
    const letters = (ago: number) => [{ name: "dead_letters_total", label: "mail", last: [2, ...steady(ago, 0)] }];
    assert.deepEqual(firing(hour(letters(15 * MIN - 1))), ["MainspringDeadLetters mail"]);
    assert.deepEqual(firing(hour(letters(15 * MIN))), []);
  });

  it("judge durations by their buckets", () => {
    const late = (sec: number) => [
      {
        name: "lateness_seconds",
        label: "p",
        bucket: SECONDS_BUCKETS.findIndex((end) => end >= sec),
        last: steady(120, 3),
      },
    ];
    assert.deepEqual(firing(hour(late(30))), []);
    assert.deepEqual(firing(hour(late(60))), ["MainspringLate p"]);
  });

  it("name the node that they are about", () => {
    const stuck = { name: "worker_stuck_slots", label: "p", last: steady(31, 2) };
    assert.deepEqual(firing(hour([], 2), hour([stuck], 2)), ["MainspringStuckSlots p n2"]);
    const away = { name: "redis_up", label: "", last: steady(31, 0) };
    assert.deepEqual(firing(hour([away])), ["MainspringRedisDown n1"]);
  });

  it("do not take what a silent node has for lacking", () => {
    const half = { name: "owned_shards", label: "", last: steady(60, 32) };
    assert.deepEqual(firing(hour([half], 2)), [], "the other half is at a node that told nothing");
    assert.deepEqual(firing(hour([half], 1)), ["MainspringOwnsNothing"]);
    const ready = { name: "executions_ready", label: "p", last: steady(61, 9) };
    assert.deepEqual(firing(hour([ready], 2)), []);
    assert.deepEqual(firing(hour([ready], 1)), ["MainspringNobodyRunsIt p"]);
  });

  it("see that nodes are fewer than they were", () => {
    const nodes = { name: "cluster_nodes", label: "", last: [...steady(20, 3), ...steady(31, 2)] };
    const links = { name: "mesh_connections", label: "", last: steady(51, 2) };
    assert.deepEqual(firing(hour([nodes, links])), ["MainspringNodeMissing"]);
  });
});
