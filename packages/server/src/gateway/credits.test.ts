import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Credits } from "./credits.ts";

const OWNERS = ["owner-a", "owner-b", "owner-c"];

describe("credits", () => {
  it("lend every free slot once, and again when it is free", () => {
    const credits = new Credits(3);
    assert.equal(credits.lend(["a"], 0), true);
    assert.equal(credits.lend(["a"], 0), false);
    assert.equal(credits.use("a", 1), "TAKEN");
    assert.equal(credits.lend(["a"], 1), false);
    assert.equal(credits.lend(["a"], 0), true);
    assert.equal(credits.granted("a"), 4);
  });

  it("take assignments in any order, each once, and leave out numbers that were never sent", () => {
    const credits = new Credits(10);
    credits.lend(["a"], 0);
    const uses = [3, 1, 3, 1, 7, 2, 7].map((credit) => credits.use("a", credit));
    assert.deepEqual(uses, ["TAKEN", "TAKEN", "REPEATED", "REPEATED", "TAKEN", "TAKEN", "REPEATED"]);
  });

  it("take back what was lent to an owner that has gone", () => {
    const credits = new Credits(4);
    credits.lend(["a"], 0);
    assert.equal(credits.use("a", 1), "TAKEN");
    credits.close("a");
    credits.lend(["b"], 1);
    assert.equal(credits.granted("b"), 3);
    assert.equal(credits.use("a", 2), "EXCEEDED");
  });

  it("stay small when numbers are missing", () => {
    const credits = new Credits(3);
    credits.lend(["a"], 0);
    assert.equal(credits.use("a", 1_000_000_000), "TAKEN");
    assert.equal(credits.use("a", 5), "REPEATED");
    assert.equal(credits.use("a", 999_999_999), "TAKEN");
  });

  it("never exceed the capacity and never leak, however messages are lost, repeated and reordered", () => {
    const event = fc.oneof(
      fc.record({ kind: fc.constant("CREDIT" as const), owner: fc.nat(2), lost: fc.boolean(), late: fc.nat(5) }),
      fc.record({ kind: fc.constant("ASSIGN" as const), owner: fc.nat(2), repeated: fc.boolean(), held: fc.boolean() }),
      fc.record({ kind: fc.constant("DELIVER" as const), pick: fc.nat(100) }),
      fc.record({ kind: fc.constant("FINISH" as const), pick: fc.nat(100) }),
      fc.record({ kind: fc.constant("RESTART" as const), owner: fc.nat(2) }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.nat(2),
        fc.array(event, { maxLength: 300 }),
        (size, more, events) => {
          const world = new World(size, more + 1);
          for (const next of events) world.happen(next);
          world.calmDown();
        },
      ),
      { numRuns: 500 },
    );
  });
});

type Happening =
  | { kind: "CREDIT"; owner: number; lost: boolean; late: number }
  | { kind: "ASSIGN"; owner: number; repeated: boolean; held: boolean }
  | { kind: "DELIVER"; pick: number }
  | { kind: "FINISH"; pick: number }
  | { kind: "RESTART"; owner: number };

/** A worker, owners as shard owners count, and a bus between them that does what it likes. */
class World {
  readonly #size: number;
  readonly #owners: string[];
  readonly #credits: Credits;
  /** As owners know it. */
  readonly #granted = new Map<string, number>();
  readonly #sent = new Map<string, number>();
  #onTheWay: { owner: string; credit: number }[] = [];
  #late: { owner: string; granted: number }[] = [];
  readonly #taken = new Set<string>();
  #occupied = 0;

  constructor(size: number, owners: number) {
    this.#size = size;
    this.#owners = OWNERS.slice(0, owners);
    this.#credits = new Credits(size);
    this.#lend();
  }

  happen(event: Happening): void {
    const owner = "owner" in event ? (this.#owners[event.owner % this.#owners.length] as string) : "";
    switch (event.kind) {
      case "CREDIT":
        this.#late.push({ owner, granted: this.#credits.granted(owner) });
        if (!event.lost) this.#learn(this.#late.splice(event.late % this.#late.length, 1));
        break;
      case "ASSIGN":
        this.#assign(owner, event.repeated);
        break;
      case "DELIVER":
        this.#deliver(this.#onTheWay.splice(event.pick % Math.max(this.#onTheWay.length, 1), 1));
        break;
      case "FINISH":
        if (this.#occupied > 0) this.#occupied--;
        this.#lend();
        break;
      case "RESTART":
        this.#restart(owner);
    }
    this.#check();
  }

  /** Faults end: everything arrives, everything finishes, credits are said once more, and every slot is lent. */
  calmDown(): void {
    this.#deliver(this.#onTheWay);
    this.#onTheWay = [];
    this.#occupied = 0;
    this.#lend();
    this.#learn(this.#owners.map((owner) => ({ owner, granted: this.#credits.granted(owner) })));
    this.#check();
    const free = this.#owners.map((owner) => (this.#granted.get(owner) ?? 0) - (this.#sent.get(owner) ?? 0));
    assert.equal(
      free.reduce((sum, count) => sum + count, 0),
      this.#size,
      "every slot is somebody's to use",
    );
  }

  #lend(): void {
    this.#credits.lend(this.#owners, this.#occupied);
  }

  #learn(credits: { owner: string; granted: number }[]): void {
    for (const { owner, granted } of credits)
      this.#granted.set(owner, Math.max(this.#granted.get(owner) ?? 0, granted));
  }

  #assign(owner: string, repeated: boolean): void {
    const sent = this.#sent.get(owner) ?? 0;
    if (sent >= (this.#granted.get(owner) ?? 0)) return;
    this.#sent.set(owner, sent + 1);
    const assign = { owner, credit: sent + 1 };
    this.#onTheWay.push(assign);
    if (repeated) this.#onTheWay.push(assign);
  }

  #deliver(assigns: { owner: string; credit: number }[]): void {
    for (const { owner, credit } of assigns) {
      const use = this.#credits.use(owner, credit);
      assert.notEqual(use, "EXCEEDED", "an owner that counts right is never turned away");
      if (use !== "TAKEN") continue;
      this.#taken.add(nameOf({ owner, credit }));
      this.#occupied++;
    }
  }

  /** A new epoch: what is on the way is of the old one and dropped, as are credits that were said before. */
  #restart(owner: string): void {
    this.#credits.close(owner);
    this.#granted.delete(owner);
    this.#sent.delete(owner);
    this.#onTheWay = this.#onTheWay.filter((assign) => assign.owner !== owner);
    for (const name of this.#taken) if (name.startsWith(`${owner}:`)) this.#taken.delete(name);
    this.#late = this.#late.filter((credit) => credit.owner !== owner);
    this.#lend();
  }

  #check(): void {
    // A repeat of what was taken takes nothing.
    const pending = new Set(this.#onTheWay.map(nameOf).filter((name) => !this.#taken.has(name))).size;
    const unused = this.#owners.reduce(
      (sum, owner) => sum + (this.#granted.get(owner) ?? 0) - (this.#sent.get(owner) ?? 0),
      0,
    );
    assert.ok(this.#occupied + pending + unused <= this.#size);
  }
}

function nameOf({ owner, credit }: { owner: string; credit: number }): string {
  return `${owner}:${credit}`;
}
