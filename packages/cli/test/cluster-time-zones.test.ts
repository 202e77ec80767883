import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Client, type LedgerItem, type MissedJob } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";

const JOBS = 1_000;
const EVERY_SEC = 20;
/** Real rules of 2025, by which Edmonton still sets its clocks back, under the name of a future release. */
const RULES = new URL("../../server/src/domain/schedule/testing/tzdata-2025b.json", import.meta.url);

describe("time zone data of a cluster", () => {
  let cluster: TestCluster;
  let nodes: ClusterNode[];
  let folder: string;
  let given: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-zones-"));
    given = join(folder, "zones.json");
    await writeFile(given, JSON.stringify({ ...JSON.parse(await readFile(RULES, "utf8")), version: "2026g" }));
    cluster = await TestCluster.open();
    nodes = await Promise.all([1, 2, 3].map(() => cluster.node()));
  });
  after(async () => {
    await cluster.close();
    await rm(folder, { recursive: true });
  });

  const clientOf = ({ httpUrl }: ClusterNode) => new Client({ url: httpUrl });

  async function inForce(node: ClusterNode, version: string): Promise<void> {
    await until(async () => (await clientOf(node).timeZoneData()).version === version);
  }

  /** Replaces a node by another one with this environment, as in a rolling upgrade. */
  async function restarted(index: number, env: Record<string, string>): Promise<void> {
    const node = nodes[index] as ClusterNode;
    node.command.signal("SIGTERM");
    await node.command.done;
    nodes[index] = await cluster.node(env);
  }

  async function ledgerOf(jobId: string): Promise<LedgerItem[]> {
    const items: LedgerItem[] = [];
    for await (const item of clientOf(nodes[0] as ClusterNode).jobs.ledger(jobId, { limit: 1_000 }))
      items.unshift(item);
    return items;
  }

  /** Jobs with missed instants, once the node has searched everything planned before a time. */
  async function searched(node: ClusterNode, before: string): Promise<MissedJob[]> {
    return await until(async () => {
      const { items, lookedUntil } = await clientOf(node).jobs.missed();
      return lookedUntil !== null && lookedUntil > before ? items : null;
    });
  }

  it("changes for all nodes at one moment, forth and back, and every instant of 1,000 jobs is accounted for once", async () => {
    const [first, second] = nodes as [ClusterNode, ClusterNode];
    const target = { handler: "echo", pool: "nobody" };
    const rest = { timezone: "America/Edmonton", overlap: "ALLOW", misfire: "FIRE_ALL" } as const;
    const jobs = Array.from({ length: JOBS }, (_, i) => {
      return { target, ...rest, schedule: `${i % EVERY_SEC}-59/${EVERY_SEC} * * * * *` };
    });
    const answers = await clientOf(first).submitBatch(jobs);
    const ids = answers.flatMap((answer) => ("jobId" in answer ? answer.jobId : []));
    const everyMinute = { target, ...rest, schedule: "0-59 0-23 * * *" };
    const fixed = (await clientOf(first).jobs.upsert("by the clock", everyMinute)).jobId;

    await restarted(2, { MAINSPRING_TZDATA: given });
    const { changeovers } = await clientOf(nodes[2] as ClusterNode).timeZoneData();
    assert.deepEqual(
      changeovers.map(({ version }) => version),
      ["2026f", "2026g"],
    );
    for (const node of nodes) await inForce(node, "2026g");
    await restarted(1, { MAINSPRING_TZDATA: given });
    const back = await clientOf(first).useTimeZoneData("2026f");
    assert.deepEqual(back.available, ["2026f", "2026g"]);
    for (const node of nodes) await inForce(node, "2026f");
    await restarted(0, {});
    assert.notEqual(second.httpUrl, nodes[1]?.httpUrl);
    assert.equal(
      (await clientOf(nodes[1] as ClusterNode).timeZoneData()).version,
      "2026f",
      "nodes that bring 2026g obey",
    );

    for (const jobId of ids) {
      const items = await until(async () => {
        const kept = await ledgerOf(jobId);
        return kept.length < 2 ? null : kept;
      });
      const instants = items.map(({ at }) => Date.parse(at));
      assert.deepEqual(new Set(items.map(({ outcome }) => outcome)), new Set(["WAITING"]), jobId);
      for (const [i, at] of instants.slice(1).entries())
        assert.equal(at - (instants[i] ?? 0), EVERY_SEC * 1_000, jobId);
    }
    const walls = (await ledgerOf(fixed)).map(({ local, outcome }) => `${outcome} ${local.slice(0, 16)}`);
    assert.equal(new Set(walls).size, walls.length, "no time on the wall comes twice");
    assert.ok(
      walls.every((wall) => wall.startsWith("WAITING")),
      walls.join(),
    );
    assert.deepEqual(await clientOf(nodes[0] as ClusterNode).jobs.overdue(), []);
    const last = (await ledgerOf(fixed)).at(-1)?.at ?? "";
    for (const node of nodes) assert.deepEqual(await searched(node, last), []);
  });

  it("refuses a version that nobody has, and data that cannot be read", async () => {
    await assert.rejects(
      clientOf(nodes[0] as ClusterNode).useTimeZoneData("1999z"),
      /"1999z" is not available: give one of 2026f/,
    );
    await writeFile(given, "garbage");
    const { stderr, code } = await cluster.start({ MAINSPRING_TZDATA: given }).done;
    assert.match(stderr, /MAINSPRING_TZDATA: .*zones.json cannot be used: it is not JSON[.] Give a folder/);
    assert.equal(code, 1);
  });
});
