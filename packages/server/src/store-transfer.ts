import { createHash } from "node:crypto";
import { StoreUnusable } from "./ports/store-errors.ts";
import {
  type StoreTransfer,
  TRANSFER_KINDS,
  type TransferKind,
  type TransferMark,
  type TransferRow,
  type TransferRows,
} from "./ports/store-transfer.ts";

export interface TransferOptions {
  from: StoreTransfer;
  to: StoreTransfer;
  /** Kinds that stay behind by the wish of the user. */
  without: ReadonlySet<TransferKind>;
  /** Called behind each portion with the number of rows of the kind so far. */
  onRows: (kind: TransferKind, rows: number) => void;
  /** Aborts the transfer between two portions. A repeat begins again. */
  signal: AbortSignal;
}

export interface Transferred {
  /** Rows by kind and, if they have one, state. */
  moved: Readonly<Record<string, number>>;
  leftBehind: Readonly<Record<string, number>>;
}

/** Fields that stores keep differently, and kinds whose rows a target may have more of. */
const NOT_COMPARED: ReadonlySet<string> = new Set(["contentDigest"]);
const MAY_GROW: ReadonlySet<TransferKind> = new Set(["payloads"]);

/**
 * Copies a whole store into an empty one of another kind, compares the copy, and marks the source as moved. No server can open the target
 * before the source is marked, and no server can open the source from then on.
 * @throws {StoreUnusable} one of the stores cannot take part; the message says why, and whether anything was changed
 */
export async function transferStore(options: TransferOptions): Promise<Transferred> {
  const { from, to } = options;
  const isRepeat = await checkMarks(options);
  if (isRepeat && (await from.mark())?.state === "MOVED") return await concluded(options, await tallyOf(options, to));
  const stays = await from.unmovable();
  if (stays !== null) throw new StoreUnusable(`${from.name} has ${stays.count} ${stays.what}. Nothing was changed.`);
  const source = await examined(options);
  await to.setMark({ state: "FILLING", other: from.name });
  // A new store has rows of its own, such as its first tenant.
  await to.empty();
  await to.raiseEpochs(await from.epochs());
  await copyRows(options);
  await to.setCounters(await from.counters());
  compare(source, await tallyOf(options, to));
  return await concluded(options, source);
}

/** Ends a transfer whose rows are all there. The source is closed to servers before the target is opened to them. */
async function concluded({ from, to }: TransferOptions, tally: Tally): Promise<Transferred> {
  const leftBehind = await from.leftBehind();
  await from.setMark({ state: "MOVED", other: to.name });
  await to.setMark(null);
  const counts = [...tally].flatMap(([kind, { counts }]) =>
    Array.from(counts, ([state, rows]) => [state === "" ? kind : `${kind} ${state}`, rows] as const),
  );
  return { moved: Object.fromEntries(counts), leftBehind };
}

/** @returns whether an earlier transfer of the same source has begun */
async function checkMarks({ from, to }: TransferOptions): Promise<boolean> {
  const [source, target] = [await from.mark(), await to.mark()];
  const isOwn = (mark: TransferMark | null, state: TransferMark["state"], other: StoreTransfer) =>
    mark?.state === state && mark.other === other.name;
  if (source !== null && !(isOwn(source, "MOVED", to) && isOwn(target, "FILLING", from)))
    throw new StoreUnusable(`${from.name} ${stateText(source)}. Nothing was changed.`);
  if (target === null) {
    if (await to.isEmpty()) return false;
    throw new StoreUnusable(`${to.name} is not empty: name a store that no server has used. Nothing was changed.`);
  }
  if (isOwn(target, "FILLING", from)) return true;
  throw new StoreUnusable(`${to.name} ${stateText(target)}. Nothing was changed.`);
}

function stateText({ state, other }: TransferMark): string {
  return state === "MOVED" ? `was moved to ${other}` : `is being filled from ${other}: finish that, or empty it`;
}

/** Number of rows of a kind by state, and a sum of digests of rows that does not depend on their order. */
interface KindTally {
  counts: Map<string, number>;
  digest: bigint;
}
type Tally = Map<TransferKind, KindTally>;

/** Reads the whole source, and asks the target about each row before it gets the first one. */
async function examined(options: TransferOptions): Promise<Tally> {
  let first: { kind: TransferKind; row: TransferRow; reason: string } | null = null;
  let count = 0;
  const tally = await tallyOf(options, options.from, (kind, row) => {
    const reason = options.to.unfit(kind, row as never);
    if (reason === null) return;
    count++;
    first ??= { kind, row, reason };
  });
  if (first === null) return tally;
  const { kind, row, reason } = first as { kind: TransferKind; row: TransferRow; reason: string };
  const others = count === 1 ? "" : ` (the first of ${count} such rows)`;
  throw new StoreUnusable(
    `${options.to.name} cannot hold a row of ${kind}, ${nameOf(row)}: ${reason}${others}. Nothing was changed.`,
  );
}

function nameOf(row: TransferRow): string {
  const named = row as { id?: string; jobId?: string; run?: string; name?: string; tenant?: string };
  return named.id ?? named.jobId ?? named.run ?? named.name ?? named.tenant ?? "without a name";
}

async function tallyOf(
  { without, signal }: TransferOptions,
  store: StoreTransfer,
  look: (kind: TransferKind, row: TransferRow) => void = () => undefined,
): Promise<Tally> {
  const tally: Tally = new Map();
  for (const kind of TRANSFER_KINDS) {
    if (without.has(kind)) continue;
    const own: KindTally = { counts: new Map(), digest: 0n };
    for await (const rows of store.rows(kind)) {
      signal.throwIfAborted();
      for (const row of rows) {
        look(kind, row);
        const state = stateOf(row);
        own.counts.set(state, (own.counts.get(state) ?? 0) + 1);
        own.digest = BigInt.asUintN(64, own.digest + digestOf(row));
      }
    }
    tally.set(kind, own);
  }
  return tally;
}

function stateOf(row: TransferRow): string {
  return "state" in row && typeof row.state === "string" ? row.state : "";
}

async function copyRows(options: TransferOptions): Promise<void> {
  for (const kind of TRANSFER_KINDS) if (!options.without.has(kind)) await copyKind(options, kind);
}

async function copyKind<K extends TransferKind>({ from, to, onRows, signal }: TransferOptions, kind: K): Promise<void> {
  let count = 0;
  for await (const rows of from.rows(kind) as AsyncIterable<TransferRows[K][]>) {
    signal.throwIfAborted();
    await to.write(kind, rows);
    count += rows.length;
    onRows(kind, count);
  }
}

/** @throws {StoreUnusable} the target has other rows than the source */
function compare(source: Tally, target: Tally): void {
  for (const [kind, { counts, digest }] of source) {
    const copy = target.get(kind) as KindTally;
    const states = [...new Set([...counts.keys(), ...copy.counts.keys()])];
    for (const state of states) {
      const [asked, found] = [counts.get(state) ?? 0, copy.counts.get(state) ?? 0];
      if (found === asked || (MAY_GROW.has(kind) && found > asked)) continue;
      throw differs(kind, `${asked} rows ${state} there, and ${found} in the copy`);
    }
    if (digest !== copy.digest && !MAY_GROW.has(kind)) throw differs(kind, "a field of a row is not the same");
  }
}

function differs(kind: TransferKind, difference: string): StoreUnusable {
  return new StoreUnusable(
    `The copy of ${kind} differs from its source: ${difference}. The source is unchanged, and no server can open the copy; ` +
      "a repeat of the command begins again.",
  );
}

/** Digest of 8 bytes of what all stores keep of a row. */
function digestOf(row: TransferRow): bigint {
  return createHash("sha256")
    .update(JSON.stringify(canonical(row)))
    .digest()
    .readBigUInt64BE();
}

/** The value with sorted fields, without undefined ones; bytes as base64. */
function canonical(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).filter(([name, field]) => field !== undefined && !NOT_COMPARED.has(name));
  return fields.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, field]) => [name, canonical(field)]);
}
