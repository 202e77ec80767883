import type { SimEvent } from "../../history.ts";
import { type Checker, Violation } from "../checker.ts";
import { stuckSince, type WorkerTracker } from "./worker-tracker.ts";

/** Time until a gateway knows that a handler outlives its attempt, in milliseconds. */
const TOLD_WITHIN_MS = 5_000;

/** Slots of one worker that a gateway lent to one owner. */
interface Loan {
  account: number;
  granted: number;
  /** Numbers of the assignments that used slots of this loan. */
  used: Set<number>;
}

/** Owners of shards, as one gateway was told. */
class Claims {
  readonly #shards = new Map<number, { owner: string | null; epoch: number }>();
  readonly #terms = new Map<string, number>();
  readonly #lives = new Map<string, number>();

  /** @returns owners whose accounts end with this message, because they start again or own no shard any more */
  hear({ owner, term, life, shards }: Extract<SimEvent, { kind: "OWNER_ARRIVED" }>): string[] {
    const before = this.#owners();
    if (term < (this.#terms.get(owner) ?? 0)) return [];
    const isForgetful = life > (this.#lives.get(owner) ?? 0);
    this.#lives.set(owner, life);
    for (const { shard, epoch } of shards) {
      if (epoch <= (this.#shards.get(shard)?.epoch ?? 0)) continue;
      this.#shards.set(shard, { owner, epoch });
    }
    const listed = new Set(shards.map(({ shard }) => shard));
    for (const [shard, claim] of this.#shards) if (claim.owner === owner && !listed.has(shard)) claim.owner = null;
    this.#terms.set(owner, term);
    const now = this.#owners();
    return [...before].filter((name) => !now.has(name)).concat(isForgetful ? [owner] : []);
  }

  #owners(): Set<string> {
    const owners = new Set<string>();
    for (const { owner } of this.#shards.values()) if (owner !== null) owners.add(owner);
    return owners;
  }
}

/**
 * A slot is lent to one owner at a time: the unused slots of a worker that a gateway has lent to all owners together
 * never exceed what the worker can hold.
 */
export function slotsAreLentOnce(tracker: WorkerTracker): Checker {
  /** Loans by gateway, worker and owner. */
  const loans = new Map<string, Map<string, Map<string, Loan>>>();
  const claims = new Map<string, Claims>();
  /** Number of the worker's last connection at a gateway, by gateway and worker. */
  const connections = new Map<string, number>();
  const heard = (event: Extract<SimEvent, { kind: "OWNER_ARRIVED" }>) => {
    const { server } = event;
    const known = claims.get(server) ?? new Claims();
    claims.set(server, known);
    for (const owner of known.hear(event)) {
      for (const owners of ofGateway(server).values()) owners.delete(owner);
    }
  };
  /** The worker connected to another gateway in between, so its earlier loans here have ended. */
  const greeted = ({ server, worker, count }: Extract<SimEvent, { kind: "GREETED" }>) => {
    const name = `${server}/${worker}`;
    if (count > (connections.get(name) ?? count) + 1) ofGateway(server).delete(worker);
    connections.set(name, Math.max(count, connections.get(name) ?? 0));
  };
  const ofGateway = (server: string) => {
    const known = loans.get(server) ?? new Map<string, Map<string, Loan>>();
    loans.set(server, known);
    return known;
  };
  const ofWorker = (server: string, worker: string) => {
    const known = ofGateway(server).get(worker) ?? new Map<string, Loan>();
    ofGateway(server).set(worker, known);
    return known;
  };
  const lent = (event: Extract<SimEvent, { kind: "LENT" }>) => {
    const owners = ofWorker(event.server, event.worker);
    const { owner, account, granted } = event;
    const known = owners.get(owner);
    if (known?.account === account) known.granted = Math.max(known.granted, granted);
    else owners.set(owner, { account, granted, used: new Set() });
  };
  return {
    name: "slots are lent once",
    noticed(event) {
      if (event.kind === "ASSIGN_ARRIVED") {
        const loan = ofWorker(event.server, event.worker).get(event.owner);
        if (loan?.account === event.account) loan.used.add(event.credit);
      } else if (event.kind === "VOID_ARRIVED") {
        const loan = ofWorker(event.server, event.worker).get(event.owner);
        if (loan?.account === event.account) for (const credit of event.credits) loan.used.add(credit);
      } else if (event.kind === "OWNER_ARRIVED") heard(event);
      else if (event.kind === "GREETED") greeted(event);
      else if (event.kind === "DECLARED_LOST") ofGateway(event.server).delete(event.worker);
      if (event.kind !== "LENT") return;
      lent(event);
      const { server, worker } = event;
      const attendance = tracker.get(worker);
      if (attendance === undefined) return;
      const stuck = tracker.get(worker)?.server === server ? stuckSince(attendance, event.atMs - TOLD_WITHIN_MS) : 0;
      const capacity = attendance.slots + attendance.prefetch - stuck;
      let open = 0;
      for (const { granted, used } of ofWorker(server, worker).values()) open += Math.max(0, granted - used.size);
      if (open > capacity) throw new Violation(`${server} has lent ${open} slots of ${worker}, which has ${capacity}`);
    },
  };
}
