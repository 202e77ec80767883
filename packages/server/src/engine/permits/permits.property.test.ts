import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { SHARD_COUNT, type ShardId } from "../../domain/ids.ts";
import { tenantLimit } from "../../domain/tenant-limit.ts";
import type { PermitAnswer, PermitCall } from "../../ports/messages.ts";
import { PermitLedger, type PoolLimits } from "./permit-ledger.ts";
import { PoolPermits } from "./pool-permits.ts";

/** A pool, and tenants with work in it. An attempt needs a permit of the pool and one of its tenant. */
const POOL = "limited";
const TENANTS = [tenantLimit("acme"), tenantLimit("bolt")] as const;
const LIMITS: Readonly<Record<string, number>> = { [POOL]: 5, [TENANTS[0]]: 3, [TENANTS[1]]: 4 };
const NAMES = [...TENANTS, POOL] as const;
/** Groups in which shards move between nodes. */
const GROUPS = 4;
const NODES = 3;

interface Letter {
  to: number;
  from: number;
  message: PermitCall | PermitAnswer;
}

/** A node: the shards that it believes to own, and its two ends of the protocol. */
class Node {
  life = 1;
  term = 0;
  accounts = 0;
  readonly permits = new Map(NAMES.map((name) => [name, new PoolPermits(name, limitsOf(name))]));
  readonly epochs = new Map<ShardId, number>();
  seen = new Map<ShardId, number>();
  /** Epochs of all shards that were known after the takeover of each shard. */
  readonly seenWith = new Map<ShardId, ReadonlyMap<ShardId, number>>();
  readonly ledgers = new Map<string, PermitLedger>();

  of(name: string): PoolPermits {
    return this.permits.get(name) as PoolPermits;
  }

  open(...names: string[]): void {
    for (const name of names) if (this.epochs.size > 0) this.of(name).open(++this.accounts, this.term, this.epochs);
  }

  forget(shard: ShardId): void {
    for (const [name, permits] of this.permits) {
      permits.lost(shard, this.epochs.get(shard) ?? 0);
      if (shard === permits.coordinator) this.ledgers.delete(name);
    }
    this.epochs.delete(shard);
  }

  hasRoom(name: string): boolean {
    return this.of(name).room(this.term) > 0;
  }
}

/**
 * Nodes, a store that knows the owners and the current attempts, and a network that loses, repeats and reorders
 * messages.
 */
class World {
  readonly nodes = Array.from({ length: NODES }, () => new Node());
  readonly epochs = new Map<ShardId, number>();
  readonly owners = new Map<ShardId, number>();
  /** Tenants of the current attempts, by shard. */
  readonly current = new Map<ShardId, string[]>();
  letters: Letter[] = [];
  now = 0;

  constructor() {
    for (let group = 0; group < GROUPS; group++) this.takeOver(0, group);
  }

  /** Number of current attempts under the name. */
  running(name: string): number {
    const all = [...this.current.values()].flat();
    return name === POOL ? all.length : all.filter((tenant) => tenant === name).length;
  }

  /** Takes over a group of shards. The former owner is not informed, and notices at its next write. */
  takeOver(to: number, group: number): void {
    const node = this.nodes[to] as Node;
    const shards = Array.from({ length: SHARD_COUNT }, (_, shard) => shard).filter((shard) => shard % GROUPS === group);
    for (const shard of shards) if (node.epochs.has(shard)) node.forget(shard);
    node.term++;
    for (const shard of shards) {
      this.epochs.set(shard, (this.epochs.get(shard) ?? 0) + 1);
      this.owners.set(shard, to);
      node.epochs.set(shard, this.epochs.get(shard) ?? 0);
      for (const tenant of this.current.get(shard) ?? [])
        for (const name of [tenant, POOL]) node.of(name).adopted(shard);
    }
    node.seen = new Map(this.epochs);
    for (const shard of shards) node.seenWith.set(shard, node.seen);
    for (const permits of node.permits.values()) {
      permits.owned(shards);
      permits.hears(node.seen.get(permits.coordinator) ?? 0);
    }
    node.open(...NAMES);
  }

  /** Lets a node notice which shards it has lost. */
  notice(at: number): void {
    const node = this.nodes[at] as Node;
    const gone = [...node.epochs].filter(([shard, epoch]) => this.epochs.get(shard) !== epoch);
    for (const [shard] of gone) node.forget(shard);
    if (gone.length > 0) node.open(...NAMES);
  }

  /** Restarts a node with an empty memory. Attempts in its shards stay current until another node takes them over. */
  die(at: number): void {
    const node = new Node();
    node.life = (this.nodes[at] as Node).life + 1;
    this.nodes[at] = node;
  }

  assign(at: number, pick: number, tenant = TENANTS[pick % TENANTS.length] ?? ""): void {
    const node = this.nodes[at] as Node;
    const shards = [...node.epochs.keys()];
    const shard = shards[pick % Math.max(1, shards.length)];
    if (shard === undefined || !node.hasRoom(tenant) || !node.hasRoom(POOL)) return;
    for (const name of [tenant, POOL]) node.of(name).assigned(shard);
    if (this.epochs.get(shard) !== node.epochs.get(shard)) return this.notice(at);
    this.current.set(shard, [...(this.current.get(shard) ?? []), tenant]);
    for (const name of [tenant, POOL])
      assert.ok(this.running(name) <= (LIMITS[name] ?? 0), `${this.running(name)} of ${name} are current`);
  }

  finish(pick: number): void {
    const busy = [...this.current].filter(([, tenants]) => tenants.length > 0);
    const [shard = 0, tenants = []] = busy[pick % Math.max(1, busy.length)] ?? [];
    const node = this.nodes[this.owners.get(shard) ?? -1];
    const [tenant, ...others] = tenants;
    if (tenant === undefined || node?.epochs.get(shard) !== this.epochs.get(shard)) return;
    this.current.set(shard, others);
    for (const name of [tenant, POOL]) node?.of(name).freed(shard);
  }

  /**
   * Sends calls. The pool's permits are asked for when the node has a tenant's.
   * @param to node that the caller takes for the coordinator; null: the right one
   */
  call(at: number, to: number | null, wanted: number, names: readonly string[] = NAMES): void {
    const node = this.nodes[at] as Node;
    if (node.epochs.size === 0) return;
    this.now += 1_000;
    for (const name of names) {
      const permits = node.of(name);
      const isPossible = name !== POOL || TENANTS.some((tenant) => node.hasRoom(tenant));
      const wish = wanted === 0 || node.hasRoom(name) || !isPossible ? null : () => ({ count: wanted, rank: at });
      const message = permits.call(wish, node.life, this.now, true);
      const coordinator = to ?? this.owners.get(permits.coordinator) ?? 0;
      if (message !== null) this.letters.push({ to: coordinator, from: at, message });
    }
  }

  /** Delivers a message. @param isKept whether the message is delivered once more later */
  deliver(pick: number, isKept: boolean): void {
    const index = pick % Math.max(1, this.letters.length);
    const letter = this.letters[index];
    if (letter === undefined) return;
    if (!isKept) this.letters.splice(index, 1);
    const { to, from, message } = letter;
    const node = this.nodes[to] as Node;
    if (message.kind === "PERMIT_CALL") this.#callArrives(to, from, message);
    else if (message.life === node.life && node.of(message.pool).take(message, this.now)) node.open(message.pool);
  }

  #callArrives(at: number, from: number, call: PermitCall): void {
    const node = this.nodes[at] as Node;
    const name = call.pool;
    const { coordinator } = node.of(name);
    const epoch = node.epochs.get(coordinator);
    if (epoch === undefined) return;
    let ledger = node.ledgers.get(name);
    if (ledger?.epoch !== epoch) ledger = new PermitLedger(name, epoch, node.seenWith.get(coordinator) ?? new Map());
    node.ledgers.set(name, ledger);
    ledger.take(`node-${from}`, call, this.now);
    for (const { node: to, answer } of ledger.deal(limitsOf(name), this.now)) {
      this.letters.push({ to: Number(to.slice(5)), from: at, message: answer });
    }
  }

  lose(pick: number): void {
    if (this.letters.length > 0) this.letters.splice(pick % this.letters.length, 1);
  }

  /** Lets every node call and be answered, and use some of its permits. */
  exchange(first: number, wanted: number): void {
    for (const names of [TENANTS, [POOL]]) {
      for (let i = 0; i < NODES; i++) this.call((first + i) % NODES, null, wanted, names);
      while (this.letters.length > 0) this.deliver(0, false);
    }
    for (let i = 0; i < wanted; i++) this.assign(first % NODES, i * 7 + first);
  }

  /** Ends all faults: every node wants to run work, and calls each second. */
  heal(): void {
    this.nodes.forEach((node, at) => {
      for (let group = 0; group < GROUPS; group++) {
        const owner = this.owners.get(group) ?? 0;
        if (owner === at && node.epochs.get(group) !== this.epochs.get(group)) this.takeOver(at, group);
      }
      this.notice(at);
    });
    for (let second = 0; second < 8; second++) {
      for (const names of [TENANTS, [POOL]]) {
        for (let at = 0; at < NODES; at++) this.call(at, null, 10, names);
        while (this.letters.length > 0) this.deliver(0, false);
      }
      for (let at = 0; at < NODES; at++) for (let i = 0; i < 10; i++) this.assign(at, i);
    }
  }
}

function limitsOf(name: string): PoolLimits {
  return { maxRunning: LIMITS[name] ?? null, ratePerSec: null };
}

const nat = fc.nat(1_000);
const action = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constant("assign"), fc.nat(NODES - 1), nat) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("finish"), nat, nat) },
  { weight: 6, arbitrary: fc.tuple(fc.constant("call"), fc.nat(NODES - 1), fc.nat(9)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("callWrong"), fc.nat(NODES - 1), fc.nat(NODES - 1)) },
  { weight: 12, arbitrary: fc.tuple(fc.constant("deliver"), nat, nat) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("exchange"), nat, fc.nat(5)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("repeat"), nat, nat) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("lose"), nat, nat) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("takeOver"), fc.nat(NODES - 1), fc.nat(GROUPS - 1)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("notice"), fc.nat(NODES - 1), nat) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("die"), fc.nat(NODES - 1), nat) },
);

const ACTIONS: Record<string, (world: World, a: number, b: number) => void> = {
  assign: (world, a, b) => world.assign(a, b),
  finish: (world, a) => world.finish(a),
  call: (world, a, b) => world.call(a, null, b),
  callWrong: (world, a, b) => world.call(a, b, 3),
  exchange: (world, a, b) => world.exchange(a, b),
  deliver: (world, a) => world.deliver(a, false),
  repeat: (world, a) => world.deliver(a, true),
  lose: (world, a) => world.lose(a),
  takeOver: (world, a, b) => world.takeOver(a, b),
  notice: (world, a) => world.notice(a),
  die: (world, a) => world.die(a),
};

it("never has more current than the pool and the tenant allow, and loses no permit, whatever messages and owners do", () => {
  fc.assert(
    fc.property(fc.array(action, { minLength: 50, maxLength: 400, size: "max" }), (actions) => {
      const world = new World();
      for (const [action, a, b] of actions) ACTIONS[action]?.(world, a, b);
      world.heal();
      assert.equal(world.running(POOL), LIMITS[POOL], "when all is well again, every permit of the pool is used");
    }),
    { numRuns: 400, seed: 11 },
  );
});
