import assert from "node:assert/strict";
import type { Assign } from "@mainspring/proto";
import type { Incarnation } from "../domain/ids.ts";
import type { Credit, FromGateway, ToGateway } from "../ports/messages.ts";
import { assignment, Stage, type WorkerEnd } from "./gateway.fixture.ts";
import { Owners } from "./owners.ts";

const SHARDS = 8;
const NAMES: readonly Incarnation[] = ["owner-a", "owner-b", "owner-c"];

export type Happening =
  | { kind: "DELIVER" | "LOSE" | "REPEAT" | "FINISH" | "VOID"; pick: number }
  | { kind: "ASSIGN" | "TERM" | "DEMAND" | "CLAIM"; owner: number; pick: number }
  | { kind: "TIME" | "RECONNECT"; pick: number };

type Mail = { to: Incarnation; message: FromGateway } | { from: Incarnation; message: ToGateway };

/** An owner that only counts credits and numbers its assignments. */
class Owner {
  readonly name: Incarnation;
  term = 0;
  epochs = new Map<number, number>();
  account = 0;
  granted = 0;
  /** Highest number that the owner has used or declared void. */
  sent = 0;
  /** Messages that had not arrived when the last full sync was sent. */
  missing: readonly number[] = [];
  rank: number | null = null;

  constructor(name: Incarnation) {
    this.name = name;
  }

  get said(): ToGateway {
    const shards = Array.from(this.epochs, ([shard, epoch]) => ({ shard, epoch }));
    return { kind: "OWNER", term: this.term, life: this.term, shards, demand: demandOf(this) };
  }

  /** @returns the answers of the owner */
  hear(message: FromGateway): ToGateway[] {
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the played owner answers only these messages
    switch (message.kind) {
      case "WORKER_UP":
        if (message.term === this.term) this.#open(message.account);
        return [];
      case "CREDITS":
        if (message.term !== this.term) return [];
        return message.credits.flatMap((credit) => this.#learn(credit, message.roll));
      case "RECALL":
        return message.workers.some(({ account }) => account === this.account) ? this.giveBack() : [];
      case "FINISHED":
        return [{ kind: "ACK", workerId: "worker-1", tokens: message.results.map((result) => ({ ...result })) }];
      default:
        return [];
    }
  }

  /** Gives back all unused credits. */
  giveBack(): ToGateway[] {
    const unused = Array.from({ length: Math.max(0, this.granted - this.sent) }, (_, index) => this.sent + index + 1);
    this.sent += unused.length;
    return unused.length === 0 ? [] : this.void(unused);
  }

  void(credits: readonly number[]): ToGateway[] {
    return [{ kind: "VOID", workerId: "worker-1", account: this.account, credits }];
  }

  #learn({ account, granted, highest, missing }: Credit, roll: boolean): ToGateway[] {
    // The owner missed the opening of the account.
    if (account > this.account) return [{ kind: "WHO", workerIds: ["worker-1"] }];
    if (account < this.account) return [];
    this.granted = Math.max(this.granted, granted);
    const beyond = Array.from({ length: Math.max(0, this.sent - highest) }, (_, index) => highest + index + 1);
    if (roll) this.missing = [...missing, ...beyond];
    return [];
  }

  #open(account: number): void {
    if (account <= this.account) return;
    this.account = account;
    this.granted = 0;
    this.sent = 0;
    this.missing = [];
  }
}

/** A gateway, a worker, owners that count correctly, and a bus that loses, repeats, delays and reorders messages. */
export class LossyWorld {
  readonly #capacity: number;
  readonly #stage = new Stage();
  readonly #owners: Owner[];
  readonly #mirror = new Owners();
  #onTheWay: Mail[] = [];
  #worker: WorkerEnd;
  #connection = 1;
  #epoch = 0;
  #assigned = 0;
  readonly #running = new Map<string, Assign>();
  readonly #ever = new Set<string>();
  /** Each owner's account as the gateway reported it, with the numbers that have arrived. */
  readonly #open = new Map<Incarnation, { account: number; granted: number; came: Set<number> }>();

  constructor(capacity: number, owners: number) {
    this.#capacity = capacity;
    this.#owners = NAMES.slice(0, owners).map((name) => new Owner(name));
    this.#owners.forEach((owner, index) => this.#claim(owner, index));
    this.#worker = this.#connect();
    this.#look();
  }

  happen(event: Happening): void {
    const owner = this.#owners[("owner" in event ? event.owner : 0) % this.#owners.length] as Owner;
    const mail = this.#onTheWay[event.pick % Math.max(1, this.#onTheWay.length)];
    switch (event.kind) {
      case "LOSE":
        this.#onTheWay = this.#onTheWay.filter((other) => other !== mail);
        break;
      case "REPEAT":
        if (mail !== undefined) this.#onTheWay.push({ ...mail });
        break;
      case "DELIVER":
        this.#onTheWay = this.#onTheWay.filter((other) => other !== mail);
        if (mail !== undefined) this.#deliver(mail);
        break;
      case "TIME":
        this.#stage.runtime.advance(event.pick % 1_200);
        break;
      case "RECONNECT":
        this.#worker = this.#connect();
        break;
      case "FINISH":
        this.#finish([...this.#running.keys()][event.pick % Math.max(1, this.#running.size)]);
        break;
      case "VOID":
        for (const lender of this.#owners) this.#send(lender.name, lender.void(lender.missing));
        break;
      case "ASSIGN":
        this.#assign(owner);
        break;
      case "TERM":
        owner.term++;
        this.#send(owner.name, [owner.said]);
        break;
      case "CLAIM":
        this.#claim(owner, event.pick);
        break;
      case "DEMAND":
        owner.rank = event.pick % 3 === 0 ? null : event.pick;
        this.#send(owner.name, [{ kind: "DEMAND", term: owner.term, demand: demandOf(owner) }]);
    }
    this.#look();
    this.#check();
  }

  /**
   * Ends all faults. An owner that has work and starts it then gets every slot, even if owners forgot their credits.
   */
  calmDown(): void {
    const [first] = this.#owners as [Owner];
    for (const owner of this.#owners) owner.rank = owner === first ? 1 : null;
    this.#claim(first, 0);
    for (let second = 0; second < 10; second++) {
      for (const owner of this.#owners) this.#send(owner.name, [owner.said, ...owner.void(owner.missing)]);
      this.#finishAll();
      this.#stage.runtime.advance(1_000);
      this.#worker.heartbeat();
      this.#look();
      while (first.sent < first.granted) this.#assign(first);
      this.#deliverAll();
      this.#check();
    }
    this.#finishAll();
    this.#deliverAll();
    assert.equal(this.#running.size, 0);
    assert.equal(first.granted - first.sent, this.#capacity, "all is lent to the one who has work, and it knows");
  }

  #finishAll(): void {
    for (const id of [...this.#running.keys()]) this.#finish(id);
  }

  #deliverAll(): void {
    for (let mail = this.#onTheWay.shift(); mail !== undefined; mail = this.#onTheWay.shift()) {
      this.#deliver(mail);
      this.#look();
    }
  }

  #send(from: Incarnation, messages: readonly ToGateway[]): void {
    for (const message of messages) this.#onTheWay.push({ from, message });
  }

  #claim(owner: Owner, pick: number): void {
    const shard = pick % SHARDS;
    const epoch = ++this.#epoch;
    owner.term++;
    // Half of all shards, so that an owner sometimes has none left.
    for (let index = 0; index < SHARDS / 2; index++) owner.epochs.set((shard + index) % SHARDS, epoch);
    this.#send(owner.name, [owner.said]);
  }

  #connect(): WorkerEnd {
    const holds = Array.from(this.#running.values(), ({ token }) => ({ token: token as NonNullable<typeof token> }));
    const connection = this.#connection++;
    return this.#stage.connect().hello({ slots: this.#capacity, prefetch: 0, connection, holds });
  }

  #assign(owner: Owner): void {
    const [shard] = owner.epochs.keys();
    const epoch = owner.epochs.get(shard ?? 0);
    if (shard === undefined || epoch === undefined || owner.sent >= owner.granted) return;
    const work = { shard, epoch, account: owner.account, credit: ++owner.sent };
    this.#send(owner.name, [{ kind: "ASSIGN", assigns: [assignment(++this.#assigned, work)] }]);
  }

  #finish(id: string | undefined): void {
    const assign = this.#running.get(id ?? "");
    if (assign === undefined) return;
    this.#running.delete(id ?? "");
    this.#worker.finish(assign);
    this.#look();
  }

  #deliver(mail: Mail): void {
    if ("to" in mail) {
      const owner = this.#owners.find(({ name }) => name === mail.to) as Owner;
      return this.#send(owner.name, owner.hear(mail.message));
    }
    const { from, message } = mail;
    if (message.kind === "OWNER") {
      const { gone } = this.#mirror.record(from, message);
      for (const name of gone) this.#open.delete(name);
    }
    this.#count(from, message);
    this.#stage.bus.deliver(from, [message]);
  }

  /** Records which numbers of open accounts have arrived. */
  #count(from: Incarnation, message: ToGateway): void {
    const open = this.#open.get(from);
    if (message.kind === "VOID" && message.account === open?.account) {
      for (const credit of message.credits) open.came.add(credit);
    }
    if (message.kind !== "ASSIGN") return;
    for (const { account, credit, shard, epoch } of message.assigns) {
      if (account === open?.account && this.#mirror.isCurrent(shard, epoch)) open.came.add(credit);
    }
  }

  /** Reads the gateway's messages since the last call. */
  #look(): void {
    for (const { node, role, message } of this.#stage.bus.sent.splice(0)) {
      if (role !== "scheduler") continue;
      const reports = message as FromGateway;
      this.#onTheWay.push({ to: node, message: reports });
      if (reports.kind === "WORKER_UP") this.#opened(node, reports.account);
      if (reports.kind !== "CREDITS") continue;
      for (const { account, granted } of reports.credits) {
        const open = this.#open.get(node);
        if (open?.account === account) open.granted = Math.max(open.granted, granted);
      }
    }
    for (const assign of this.#worker.assigns) this.#take(assign);
    this.#worker.received = [];
  }

  #opened(owner: Incarnation, account: number): void {
    if (this.#open.get(owner)?.account === account) return;
    this.#open.set(owner, { account, granted: 0, came: new Set() });
  }

  #take(assign: Assign): void {
    const id = assign.token?.executionId ?? "";
    assert.ok(!this.#ever.has(id), "an assignment is delivered once");
    this.#ever.add(id);
    this.#running.set(id, assign);
  }

  /** Checks that every slot is allocated or occupied, and none twice. */
  #check(): void {
    if (this.#mirror.all.length === 0) return;
    let unused = 0;
    for (const { granted, came } of this.#open.values()) unused += granted - came.size;
    assert.equal(unused + this.#running.size, this.#capacity, "a slot is lent to one owner or taken");
  }
}

function demandOf({ rank }: Owner): { pool: string; rank: number }[] {
  return rank === null ? [] : [{ pool: "default", rank }];
}
