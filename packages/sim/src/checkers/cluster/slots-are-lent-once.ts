import type { Moment } from "../history.ts";
import { type Checker, Violation } from "./checker.ts";
import { type Roll, stuckSince } from "./roll.ts";

/** How long it may take until a gateway knows that a handler outlives its attempt. */
const TOLD_WITHIN_MS = 5_000;

/** Slots of one worker that a gateway lent to one owner. */
interface Loan {
  account: number;
  granted: number;
  /** Numbers of the assignments that came under it. */
  used: Set<number>;
}

/** Owners of shards, as one gateway was told. */
class Claims {
  readonly #shards = new Map<number, { owner: string | null; epoch: number }>();
  readonly #terms = new Map<string, number>();
  readonly #lives = new Map<string, number>();

  /** @returns owners whose accounts end with this: they begin anew, or have nothing any more */
  hear({ owner, term, life, shards }: Extract<Moment, { kind: "OWNER_ARRIVED" }>): string[] {
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
 * A slot is lent to one owner at a time. The slots of a worker that a gateway has lent, to all owners together, and has
 * not seen used are never more than the worker can hold.
 */
export function slotsAreLentOnce(roll: Roll): Checker {
  /** Loans by gateway, worker and owner. */
  const loans = new Map<string, Map<string, Map<string, Loan>>>();
  const claims = new Map<string, Claims>();
  /** Number of the worker's last connection there, by gateway and worker. */
  const connections = new Map<string, number>();
  const heard = (moment: Extract<Moment, { kind: "OWNER_ARRIVED" }>) => {
    const { server } = moment;
    const known = claims.get(server) ?? new Claims();
    claims.set(server, known);
    for (const owner of known.hear(moment)) {
      for (const owners of ofGateway(server).values()) owners.delete(owner);
    }
  };
  /** It tried another gateway in between: what was lent of it here before is lent no more. */
  const greeted = ({ server, worker, count }: Extract<Moment, { kind: "GREETED" }>) => {
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
  const lent = (moment: Extract<Moment, { kind: "LENT" }>) => {
    const owners = ofWorker(moment.server, moment.worker);
    const { owner, account, granted } = moment;
    const known = owners.get(owner);
    if (known?.account === account) known.granted = Math.max(known.granted, granted);
    else owners.set(owner, { account, granted, used: new Set() });
  };
  return {
    name: "slots are lent once",
    noticed(moment) {
      if (moment.kind === "ASSIGN_ARRIVED") {
        const loan = ofWorker(moment.server, moment.worker).get(moment.owner);
        if (loan?.account === moment.account) loan.used.add(moment.credit);
      } else if (moment.kind === "VOID_ARRIVED") {
        const loan = ofWorker(moment.server, moment.worker).get(moment.owner);
        if (loan?.account === moment.account) for (const credit of moment.credits) loan.used.add(credit);
      } else if (moment.kind === "OWNER_ARRIVED") heard(moment);
      else if (moment.kind === "GREETED") greeted(moment);
      else if (moment.kind === "DECLARED_LOST") ofGateway(moment.server).delete(moment.worker);
      if (moment.kind !== "LENT") return;
      lent(moment);
      const { server, worker } = moment;
      const attendance = roll.get(worker);
      if (attendance === undefined) return;
      const stuck = roll.get(worker)?.server === server ? stuckSince(attendance, moment.atMs - TOLD_WITHIN_MS) : 0;
      const capacity = attendance.slots + attendance.prefetch - stuck;
      let open = 0;
      for (const { granted, used } of ofWorker(server, worker).values()) open += Math.max(0, granted - used.size);
      if (open > capacity) throw new Violation(`${server} has lent ${open} slots of ${worker}, which has ${capacity}`);
    },
  };
}
