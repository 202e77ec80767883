import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Flow, flowName } from "../../domain/flow.ts";
import type { DueCursor, FlowPage } from "../../ports/store-flows.ts";
import { FlowTurns } from "./flow-turns.ts";

interface Row extends DueCursor {
  pool: string;
}

/** A store with rows of pools, and a machine with room for some. */
class World {
  rows: Row[] = [];
  readonly found: Row[] = [];
  readonly pages: FlowPage[][] = [];
  room = new Set<string>();
  hasIndex = true;
  readonly turns = new FlowTurns<Row>(
    {
      flows: async (after, limit) => (this.hasIndex ? this.#flows(after).slice(0, limit) : null),
      read: async (pages, limit) => {
        this.pages.push([...pages]);
        const found = pages.map((page) => this.#page(page).slice(0, limit));
        this.found.push(...found.flat());
        return found;
      },
      cursorOf: ({ dueAt, id }) => ({ dueAt, id }),
      hasRoom: ({ pool }) => !this.room.has(pool),
    },
    100,
  );

  add(pool: string, count: number, dueAt = 0): this {
    for (let i = 0; i < count; i++) this.rows.push({ pool, dueAt, id: String(this.rows.length).padStart(6, "0") });
    return this;
  }

  #flows(after: Flow | null): Flow[] {
    const pools = [...new Set(this.rows.map(({ pool }) => pool))].sort();
    return pools
      .map((pool) => ({ tenant: "t", pool }))
      .filter((flow) => after === null || flowName(flow) > flowName(after));
  }

  #page({ flow, after }: FlowPage): Row[] {
    const key = ({ dueAt, id }: DueCursor) => `${String(dueAt).padStart(6, "0")} ${id}`;
    const own = this.rows.filter(({ pool }) => pool === flow.pool).sort((a, b) => (key(a) < key(b) ? -1 : 1));
    return after === null ? own : own.filter((row) => key(row) > key(after));
  }
}

describe("reads by turns of flows", () => {
  it("read a page of each flow, and then the next page of those that have more", async () => {
    const world = new World().add("herd", 130).add("quiet", 3);
    assert.equal(await world.turns.look(0), true);
    assert.deepEqual([world.turns.isActive, world.found.length], [true, 53]);
    while (await world.turns.look(1));
    assert.equal(world.found.length, 133);
    assert.equal(new Set(world.found).size, 133, "no row is read twice within a second");
    assert.equal(world.turns.isActive, false);
  });

  it("come to every flow, also where there are more flows than a look has pages", async () => {
    const world = new World();
    for (let i = 0; i < 23; i++) world.add(`pool-${i}`, 30);
    let looks = 0;
    while (await world.turns.look(looks)) looks++;
    const [first] = world.pages;
    assert.equal(first?.length, 5);
    assert.equal(new Set(world.found).size, 23 * 30);
  });

  it("read the first rows again each second, and go on behind the last page", async () => {
    const world = new World().add("herd", 1_000, 5);
    await world.turns.look(0);
    await world.turns.look(10);
    assert.equal(world.found.length, 200);
    world.rows.push({ pool: "herd", dueAt: 1, id: "late" });
    await world.turns.look(999);
    assert.ok(!world.found.some(({ id }) => id === "late"));
    await world.turns.look(1_000);
    assert.ok(
      world.found.some(({ id }) => id === "late"),
      "the row was committed behind the cursor",
    );
    world.found.splice(0);
    await world.turns.look(1_010);
    assert.equal(world.found[0]?.id, "000300");
  });

  it("leave the rows of a flow in the store while memory has no room for them, but the first ones", async () => {
    const world = new World().add("herd", 1_000).add("quiet", 60);
    await world.turns.look(0);
    world.room.add("herd");
    await world.turns.look(10);
    assert.deepEqual(
      world.pages[1]?.map(({ flow }) => flow.pool),
      ["quiet"],
    );
    assert.equal(await world.turns.look(20), false, "there is nothing to read at once");
    assert.equal(world.turns.isActive, true);
    world.room.clear();
    assert.equal(await world.turns.look(30), true);
  });

  it("begin where the store has its index, and not before", async () => {
    const world = new World().add("herd", 1_000);
    world.hasIndex = false;
    assert.deepEqual([await world.turns.look(0), world.turns.isActive], [null, false]);
    world.hasIndex = true;
    assert.equal(await world.turns.look(1), true);
  });
});
