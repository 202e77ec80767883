import { type AuditRecord, recordOf, voidRecord } from "../../../domain/audit/audit-record.ts";
import type { EpochMs } from "../../../domain/ids.ts";
import { type ChainEntry, sha256 } from "../../../ports/audit-chain.ts";
import type { AuditAnchor, AuditFilter, AuditPosition, ChainHead, Unsealed } from "../../../ports/store-audit.ts";
import { byText } from "../sorted-list.ts";

/** The audit log; see StoreAudit. */
export class AuditTable {
  #records: AuditRecord[] = [];
  readonly #anchors: AuditAnchor[] = [];
  readonly #sealed = new Map<string, number>();

  copy(): AuditTable {
    const copy = new AuditTable();
    copy.#records = [...this.#records];
    copy.#anchors.push(...this.#anchors);
    for (const [chain, seq] of this.#sealed) copy.#sealed.set(chain, seq);
    return copy;
  }

  /** Whether a record has one of the places of an entry: its transaction must fail. */
  isTaken({ chain, places }: ChainEntry): boolean {
    return places.some(({ seq }) => this.#at(chain, seq) !== undefined);
  }

  /** Writes the records of an entry. @returns hash of the last one */
  add({ chain, at, head: before, doubtful, places }: ChainEntry): string {
    let head = before;
    for (const place of doubtful) {
      const settled = this.#at(chain, place.seq) ?? voidRecord({ chain, ...place, prev: head }, sha256);
      if (this.#at(chain, place.seq) === undefined) this.#records.push(settled);
      head = settled.hash;
    }
    for (const { note, seq } of places) {
      const record = recordOf(note, { chain, seq, at, prev: head }, sha256);
      this.#records.push(record);
      head = record.hash;
    }
    return head;
  }

  list(
    { tenant, actor, action, target, since }: AuditFilter,
    after: AuditPosition | null,
    limit: number,
  ): AuditRecord[] {
    const matching = this.#records.filter(
      (record) =>
        (tenant === null || record.tenant === tenant) &&
        (actor === undefined || record.actor.keyId === actor) &&
        (action === undefined || record.action === action) &&
        (target === undefined || record.target === target) &&
        (since === undefined || record.at >= since) &&
        (after === null || compare(record, after) < 0),
    );
    return matching.sort((a, b) => compare(b, a)).slice(0, limit);
  }

  read(after: AuditPosition | null, limit: number): AuditRecord[] {
    const behind = this.#records.filter((record) => after === null || compare(record, after) > 0);
    return behind.sort(compare).slice(0, limit);
  }

  anchors(after: number, limit: number): AuditAnchor[] {
    return this.#anchors.filter(({ number }) => number > after).slice(0, limit);
  }

  unsealed(): Unsealed {
    const heads = headsOf(this.#records).filter(({ chain, seq }) => seq > (this.#sealed.get(chain) ?? 0));
    return { last: this.#anchors.at(-1) ?? null, heads };
  }

  addAnchor(anchor: AuditAnchor): boolean {
    if (anchor.number !== (this.#anchors.at(-1)?.number ?? 0) + 1) return false;
    this.#anchors.push(anchor);
    for (const { chain, seq } of anchor.heads) this.#sealed.set(chain, Math.max(seq, this.#sealed.get(chain) ?? 0));
    for (const { chain, seq } of anchor.floors) if ((this.#sealed.get(chain) ?? 0) <= seq) this.#sealed.delete(chain);
    return true;
  }

  removable(before: EpochMs): ChainHead[] {
    return headsOf(this.#records.filter(({ at }) => monthEnd(at) <= before));
  }

  remove(before: EpochMs): void {
    this.#records = this.#records.filter(({ at }) => monthEnd(at) > before);
  }

  #at(chain: string, seq: number): AuditRecord | undefined {
    return this.#records.find((record) => record.chain === chain && record.seq === seq);
  }
}

function headsOf(records: readonly AuditRecord[]): ChainHead[] {
  const heads = new Map<string, ChainHead>();
  for (const { chain, seq, hash } of records)
    if (seq > (heads.get(chain)?.seq ?? 0)) heads.set(chain, { chain, seq, hash });
  return [...heads.values()].sort((a, b) => byText(a.chain, b.chain));
}

function compare(a: AuditPosition, b: AuditPosition): number {
  return a.at - b.at || byText(a.chain, b.chain) || a.seq - b.seq;
}

/** End of the month in UTC of an instant. */
function monthEnd(at: EpochMs): EpochMs {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
