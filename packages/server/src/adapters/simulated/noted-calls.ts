import type { Incarnation } from "../../domain/ids.ts";
import { ownerOfPool } from "../../domain/pool.ts";
import { AuditChain } from "../../ports/audit-chain.ts";
import type { AuditNote, StoreAudit } from "../../ports/store-audit.ts";
import type { StoreDeadLetters } from "../../ports/store-dead-letters.ts";
import type { StoreExecutionRuns } from "../../ports/store-execution-runs.ts";
import type { StoreKeys } from "../../ports/store-keys.ts";
import type { StoreTenants } from "../../ports/store-tenants.ts";
import type { StoreWebhooks } from "../../ports/store-webhooks.ts";
import type { StoreOperation } from "./fate.ts";
import * as letters from "./rows/dead-letters.ts";
import * as runs from "./rows/execution-runs.ts";
import type { StoreData } from "./store-data.ts";

export type Call = <T>(operation: StoreOperation, effect: () => T) => Promise<T>;

/** Calls of a node that write records into the audit log together with their effects. */
export class NotedCalls {
  readonly #data: StoreData;
  readonly #call: Call;
  readonly #chain: AuditChain;

  /** @param chain UUID of the node's chain */
  constructor(data: StoreData, call: Call, chain: string) {
    this.#data = data;
    this.#call = call;
    this.#chain = new AuditChain(chain, () => data.now());
  }

  /**
   * Makes a call.
   * @param note fact to be recorded; undefined: none
   * @param isDone whether the call has changed what the note says
   */
  make<T>(
    operation: StoreOperation,
    note: AuditNote | undefined,
    effect: () => T,
    isDone: (answer: T) => boolean = (answer) => answer !== false && answer !== null,
  ): Promise<T> {
    if (note === undefined) return this.#call(operation, effect);
    return this.#recorded(operation, [note], effect, isDone);
  }

  /**
   * Makes a call with any number of facts.
   * @param isDone whether the facts are recorded; default: whatever the call answers
   */
  makeAll<T>(
    operation: StoreOperation,
    notes: readonly AuditNote[],
    effect: () => T,
    isDone: (answer: T) => boolean = () => true,
  ): Promise<T> {
    return notes.length === 0 ? this.#call(operation, effect) : this.#recorded(operation, notes, effect, isDone);
  }

  write(notes: readonly AuditNote[]): Promise<void> {
    return this.#recorded(
      "write",
      notes,
      () => undefined,
      () => true,
    );
  }

  #recorded<T>(
    operation: StoreOperation,
    notes: readonly AuditNote[],
    effect: () => T,
    isDone: (answer: T) => boolean,
  ): Promise<T> {
    return this.#chain.append(notes, (entry) =>
      this.#call(operation, () => {
        // The caller has given up, and its next call has settled the place: the transaction fails, and nobody gets its answer.
        if (this.#data.audit.isTaken(entry)) return { answer: undefined as T, head: null };
        const answer = effect();
        return { answer, head: isDone(answer) ? this.#data.audit.add(entry) : null };
      }),
    );
  }
}

/** See StoreAudit. */
export function audit(data: StoreData, call: Call, noted: NotedCalls): StoreAudit {
  return {
    write: (notes) => noted.write(notes),
    list: (...asked) => call("list", () => data.audit.list(...asked)),
    read: (...asked) => call("read", () => data.audit.read(...asked)),
    anchors: (...asked) => call("anchors", () => data.audit.anchors(...asked)),
    unsealed: () => call("unsealed", () => data.audit.unsealed()),
    addAnchor: (anchor) => call("addAnchor", () => data.audit.addAnchor(anchor)),
    removable: (before) => call("removable", () => data.audit.removable(before)),
    remove: (before) => call("remove", () => data.audit.remove(before)),
  };
}

/** See StoreDeadLetters. @param node incarnation of the node that calls */
export function deadLetters(data: StoreData, node: Incarnation, call: Call, noted: NotedCalls): StoreDeadLetters {
  return {
    list: (...asked) => call("list", () => letters.list(data, ...asked)),
    settle: (asked, note) =>
      noted.make(
        "settle",
        note,
        () => letters.settle(data, node, asked),
        (settled) => settled.some(({ outcome }) => outcome === "SETTLED"),
      ),
    begin: (run, note) => noted.make("begin", note, () => letters.begin(data, run)),
    advance: (...asked) => call("advance", () => letters.advance(data, node, ...asked)),
    readRun: (...asked) => call("readRun", () => letters.readRun(data, ...asked)),
    openRuns: () => call("openRuns", () => letters.openRuns(data)),
  };
}

/** See StoreExecutionRuns. */
export function executionRuns(data: StoreData, call: Call, noted: NotedCalls): StoreExecutionRuns {
  return {
    begin: (run, note) =>
      noted.make(
        "begin",
        note,
        () => runs.begin(data, run),
        ({ kind }) => kind === "BEGUN",
      ),
    get: (...asked) => call("get", () => runs.get(data, ...asked)),
    list: (...asked) => call("list", () => runs.list(data, ...asked)),
    stop: async (tenant, runId, at, note) => {
      await noted.make("stop", note, () => runs.stop(data, tenant, runId, at));
      return call("get", () => runs.get(data, tenant, runId));
    },
    open: (now) => call("open", () => runs.open(data, now)),
    take: (...asked) => call("take", () => runs.take(data, ...asked)),
    plan: (...asked) => call("plan", () => runs.plan(data, ...asked)),
    account: (...asked) => call("account", () => runs.account(data, ...asked)),
  };
}

/** See StoreKeys. */
export function keys(data: StoreData, call: Call, noted: NotedCalls): StoreKeys {
  return {
    version: () => call("version", () => data.keys.version),
    changedSince: (...asked) => call("changedSince", () => data.keys.changedSince(...asked)),
    create: (key, note) => noted.make("create", note, () => data.keys.create(key)),
    list: (...asked) => call("list", () => data.keys.list(...asked)),
    get: (...asked) => call("get", () => data.keys.get(...asked)),
    revoke: (owner, id, now, note) => noted.make("revoke", note, () => data.keys.revoke(owner, id, now)),
    rotate: (key, expiresAt, now, note) => noted.make("rotate", note, () => data.keys.rotate(key, expiresAt, now)),
    used: (...asked) => call("used", () => data.keys.used(...asked)),
  };
}

/** See StoreWebhooks. */
export function webhooks(data: StoreData, call: Call, noted: NotedCalls): StoreWebhooks {
  return {
    readDue: (asked) => {
      const sent = { ...asked, without: new Set(asked.without) };
      return call("readDue", () => data.webhooks.readDue(sent));
    },
    settle: (results, ...rest) => {
      const sent = [...results];
      return call("settle", () => data.webhooks.settle(sent, ...rest));
    },
    addDeliveries: (added, now) => {
      const sent = [...added];
      return call("addDeliveries", () => data.webhooks.addOfSubscriptions(sent, now));
    },
    subscriptions: () => call("subscriptions", () => data.webhooks.subscriptions()),
    create: (asked, at, note) => noted.make("create", note, () => data.webhooks.create(asked, at)),
    rotate: (tenant, id, secret, until, note) =>
      noted.make("rotate", note, () => data.webhooks.rotate(tenant, id, secret, until)),
    list: (...asked) => call("list", () => data.webhooks.list(...asked)),
    get: (...asked) => call("get", () => data.webhooks.get(...asked)),
    setDisabled: (tenant, id, reason, now, note) =>
      noted.make("setDisabled", note, () => data.webhooks.setDisabled(tenant, id, reason, now)),
    remove: (tenant, id, note) => noted.make("remove", note, () => data.webhooks.remove(tenant, id)),
    deliveries: (...asked) => call("deliveries", () => data.webhooks.deliveries(...asked)),
    replay: (tenant, id, which, now, note) =>
      noted.make(
        "replay",
        note,
        () => data.webhooks.replay(tenant, id, which, now),
        (count) => count > 0,
      ),
  };
}

/** See StoreTenants. */
export function tenants(data: StoreData, call: Call, noted: NotedCalls): StoreTenants {
  return {
    version: () => call("version", () => data.tenants.version),
    all: () => call("all", () => data.tenants.all()),
    get: (name) => call("get", () => data.tenants.get(name)),
    create: (tenant, note) =>
      noted.make(
        "create",
        note,
        () => data.createTenant(tenant),
        (answer) => answer === "CREATED",
      ),
    change: (name, asked, ifVersion, at, note) =>
      noted.make(
        "change",
        note,
        () => data.tenants.change(name, asked, ifVersion, at),
        ({ kind }) => kind === "CHANGED",
      ),
    drop: (name) => call("drop", () => data.dropTenant(name)),
    revokeKeys: (...asked) => call("revokeKeys", () => data.keys.revokeAll(...asked)),
    pools: () => call("pools", () => [...data.pools.keys()].filter((name) => ownerOfPool(name) !== null).sort()),
    sources: () => call("sources", () => data.tenants.sources()),
    bind: (source, tenant, note) => noted.make("bind", note, () => data.tenants.bind(source, tenant)),
  };
}
