import type { StoreEvent } from "@mainspring/server/testing";
import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import { addedRows, type Ledger, turnsIn } from "../recurring/ledger.ts";

type Weights = () => ReadonlyMap<string, number>;

/** Executions that must wait, for their tenant to count as one that wants more slots than there are. */
const BACKLOG = 40;
/** Looks, some seconds apart, over which tenants must have had a backlog, and those at the end that are judged. */
const LOOKS = 4;
const JUDGED = 3;
const LOOKS_OF_FLOOR = 13;
/** Number of times that all slots must have been given within the looks of the floor. */
const TURNS_OF_FLOOR = 4;
/** Slot time in ms below which there are too few slots to divide them. */
const SLOT_MS_MIN = 30_000;
/** Largest difference between a tenant's part of the slot time and its part of the weights. */
const DIFFERENCE = 0.1;
/** Assignments of other tenants after which a tenant without attempts must have got a slot. */
const PASSED_MAX = 150;

interface Tenant {
  readonly running: Map<string, number>;
  /** Due times of executions that wait, in simulated milliseconds. */
  readonly pending: Map<string, number>;
  slotMs: number;
  /** Number of attempts so far. */
  given: number;
}

interface Look {
  atMs: number;
  weights: string;
  tenants: Map<string, { slotMs: number; given: number; backlog: number }>;
  /** Largest number of current attempts of all tenants since the look before. */
  peak: number;
}

/** Tenants that have more work than there are slots, and their use of the slots over some looks. */
interface Contest {
  /** Time of the looks, for people. */
  time: string;
  busy: readonly { name: string; due: number; slotMs: number; given: number }[];
  slotMs: number;
  given: number;
  /** Largest number of current attempts meanwhile. */
  peak: number;
}

/** Attempts and waiting executions of each tenant but the default one, whose jobs differ too much from each other. */
class TenantBooks {
  readonly tenants = new Map<string, Tenant>();
  readonly #ofRow = new Map<string, Tenant>();
  #running = 0;
  #peak = 0;

  saw(event: StoreEvent): { assigned: { tenant: Tenant; atMs: number }[] } {
    const assigned: { tenant: Tenant; atMs: number }[] = [];
    if (event.kind === "WENT_BACK") this.#forget();
    for (const { id, dueAt, job } of addedRows(event)) {
      if (job.tenant !== "default") this.#of(id, job.tenant).pending.set(id, dueAt - EPOCH_MS);
    }
    if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return { assigned };
    const atMs = event.at - EPOCH_MS;
    const { ended, begun } = turnsIn(event, event.outcome);
    for (const after of ended) {
      const tenant = this.#ofRow.get(after.id);
      if (tenant === undefined) continue;
      tenant.slotMs += atMs - (tenant.running.get(after.id) ?? atMs);
      if (tenant.running.delete(after.id)) this.#running--;
      tenant.pending.delete(after.id);
      if (after.state === "PENDING") tenant.pending.set(after.id, after.dueAt - EPOCH_MS);
    }
    for (const { id } of begun) {
      const tenant = this.#ofRow.get(id);
      if (tenant === undefined) continue;
      tenant.pending.delete(id);
      if (!tenant.running.has(id)) this.#running++;
      this.#peak = Math.max(this.#peak, this.#running);
      tenant.running.set(id, atMs);
      tenant.given++;
      assigned.push({ tenant, atMs });
    }
    return { assigned };
  }

  look(nowMs: number): Pick<Look, "tenants" | "peak"> {
    const tenants: Look["tenants"] = new Map();
    for (const [name, { running, pending, slotMs, given }] of this.tenants) {
      let open = 0;
      for (const sinceMs of running.values()) open += nowMs - sinceMs;
      let backlog = 0;
      for (const dueMs of pending.values()) if (dueMs <= nowMs) backlog++;
      tenants.set(name, { slotMs: slotMs + open, given, backlog });
    }
    const peak = this.#peak;
    this.#peak = this.#running;
    return { tenants, peak };
  }

  #of(id: string, name: string): Tenant {
    const tenant = this.tenants.get(name) ?? { running: new Map(), pending: new Map(), slotMs: 0, given: 0 };
    this.tenants.set(name, tenant);
    this.#ofRow.set(id, tenant);
    return tenant;
  }

  #forget(): void {
    this.tenants.clear();
    this.#ofRow.clear();
    this.#running = 0;
  }
}

/**
 * Checkers of several tenants.
 * @param weights weights of tenants; default: all have the default one
 * @param isLimited whether tenants have limits, which may leave them less than their share
 */
export function tenantCheckers(
  ledger: Ledger,
  quiet: Quiet,
  weights: Weights = () => new Map(),
  isLimited = false,
): Checker[] {
  if (isLimited) return [tenantsAreApart(ledger)];
  return [tenantsAreApart(ledger), tenantsShareFairly(quiet, weights), quietTenantsStartInTime(quiet)];
}

/**
 * Tenants that have more work than there are slots have them in proportion to their weights. Even under faults, none has less than half of
 * that for a minute in which the slots are given several times over.
 */
function tenantsShareFairly(quiet: Quiet, weights: Weights): Checker {
  const books = new TenantBooks();
  const looks: Look[] = [];
  return {
    name: "tenants share fairly",
    saw(event) {
      if (event.kind === "WENT_BACK") looks.length = 0;
      books.saw(event);
    },
    looked(nowMs) {
      looks.push({ atMs: nowMs, weights: JSON.stringify([...weights()]), ...books.look(nowMs) });
      if (looks.length > LOOKS_OF_FLOOR) looks.shift();
      const last = looks.slice(-LOOKS);
      if (last.length === LOOKS && (last[0]?.atMs ?? 0) >= quiet.sinceMs) judgeParts(contest(last, JUDGED, weights()));
      if (looks.length === LOOKS_OF_FLOOR) judgeFloor(contest(looks, LOOKS_OF_FLOOR, weights()));
    },
  };
}

/** @returns null: fewer than two tenants had a backlog, or the weights have changed */
function contest(looks: readonly Look[], judged: number, weights: ReadonlyMap<string, number>): Contest | null {
  const [first, last] = [looks.at(-judged), looks.at(-1)];
  if (first === undefined || last === undefined || looks.some((look) => look.weights !== last.weights)) return null;
  const names = [...last.tenants.keys()].filter((name) =>
    looks.every(({ tenants }) => (tenants.get(name)?.backlog ?? 0) >= BACKLOG),
  );
  const weight = (name: string) => weights.get(name) ?? 100;
  const allWeights = names.reduce((sum, name) => sum + weight(name), 0);
  if (names.length < 2) return null;
  const busy = names.map((name) => {
    const [before, after] = [first.tenants.get(name), last.tenants.get(name)];
    const slotMs = (after?.slotMs ?? 0) - (before?.slotMs ?? 0);
    return { name, due: weight(name) / allWeights, slotMs, given: (after?.given ?? 0) - (before?.given ?? 0) };
  });
  return {
    time: `from ${first.atMs} to ${last.atMs} ms`,
    busy,
    slotMs: busy.reduce((sum, { slotMs }) => sum + slotMs, 0),
    given: busy.reduce((sum, { given }) => sum + given, 0),
    peak: Math.max(...looks.slice(1 - judged).map(({ peak }) => peak)),
  };
}

function judgeParts(contested: Contest | null): void {
  if (contested === null || contested.slotMs < SLOT_MS_MIN) return;
  for (const { name, due, slotMs } of contested.busy) {
    const part = slotMs / contested.slotMs;
    if (Math.abs(part - due) <= DIFFERENCE) continue;
    throw new Violation(
      `${name} had ${part.toFixed(2)} of the slot time ${contested.time}, and ${due.toFixed(2)} of the weights`,
    );
  }
}

/**
 * An attempt keeps its slot until the store has its end, so the order of tenants decides only when a slot is given. A fault that lets no
 * slot change hands leaves each tenant what it had, and a new owner gives the free slots to the tenants whose work it has read first.
 * A tenant whose attempts hold their slots for long, such as those of a lost worker, gets fewer new ones.
 */
function judgeFloor(contested: Contest | null): void {
  if (contested === null || contested.slotMs < SLOT_MS_MIN) return;
  if (contested.given < TURNS_OF_FLOOR * contested.peak) return;
  for (const { name, due, slotMs, given } of contested.busy) {
    const [time, slots] = [slotMs / contested.slotMs, given / contested.given];
    if (Math.max(time, slots) >= due / 2) continue;
    throw new Violation(
      `${name} had ${time.toFixed(2)} of the slot time and ${slots.toFixed(2)} of the slots ${contested.time}, and ${due.toFixed(2)} of the weights`,
    );
  }
}

/** A tenant without attempts gets a slot before other tenants get very many. */
function quietTenantsStartInTime(quiet: Quiet): Checker {
  const books = new TenantBooks();
  /** Assignments of other tenants since the execution was ready, by execution. */
  const passed = new Map<string, number>();
  return {
    name: "quiet tenants start in time",
    saw(event) {
      const { assigned } = books.saw(event);
      for (const { tenant: winner, atMs } of assigned) {
        for (const tenant of books.tenants.values()) {
          const [first] = tenant.pending;
          if (tenant === winner || first === undefined) continue;
          const [id, dueMs] = first;
          const waits = tenant.running.size === 0 && dueMs <= atMs && atMs >= quiet.sinceMs;
          passed.set(id, waits ? (passed.get(id) ?? 0) + 1 : 0);
          if ((passed.get(id) ?? 0) <= PASSED_MAX) continue;
          throw new Violation(
            `${id} was due at ${dueMs} ms and its tenant has no attempt; others got ${PASSED_MAX} slots`,
          );
        }
      }
    },
  };
}

/** A worker gets an execution of a tenant with the payload that this tenant has submitted. */
function tenantsAreApart(ledger: Ledger): Checker {
  return {
    name: "tenants are apart",
    noticed(event) {
      if (event.kind !== "HANDLER_STARTED") return;
      const [, named] = /^of (\S+) /.exec(event.asked.text) ?? [];
      const tenant = ledger.get(event.executionId)?.row.job.tenant;
      if (tenant === undefined || (named ?? "default") === tenant) return;
      throw new Violation(
        `the execution ${event.executionId} of ${tenant} ran with the payload of ${named ?? "default"}`,
      );
    },
  };
}
