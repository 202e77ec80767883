import type { Logger } from "pino";
import type { Refusals, Refused } from "../ports/refusals.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { AuditNote, StoreAudit } from "../ports/store-audit.ts";
import { tenantOf } from "./tenant.ts";

const MINUTE_MS = 60_000;
/** Largest number of records in a minute. Refusals of further addresses are counted together. */
const RECORDS_MAX = 1_000;

interface Counted {
  refused: Refused;
  count: number;
}

interface CountedRefusalsParts {
  audit: Pick<StoreAudit, "write">;
  runtime: Runtime;
  log: Logger;
}

/** Brings refusals into the audit log, by the minute: one record for each action, reason, address and key, with their number. */
export class CountedRefusals implements Refusals {
  readonly #parts: CountedRefusalsParts;
  #counted = new Map<string, Counted>();
  #timer: Timer | null = null;

  constructor(parts: CountedRefusalsParts) {
    this.#parts = parts;
  }

  note(refused: Refused): void {
    this.#add(refused, 1);
    this.#timer ??= this.#parts.runtime.setTimer(MINUTE_MS, () => {
      this.#timer = null;
      void this.flush();
    });
  }

  /** Writes the counts so far. Never throws: counts that cannot be written go into the next minute. */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    const counted = [...this.#counted.values()];
    if (counted.length === 0) return;
    this.#counted = new Map();
    try {
      await this.#parts.audit.write(counted.map(noteOf));
    } catch (error) {
      for (const { refused, count } of counted) this.#add(refused, count);
      this.#timer ??= this.#parts.runtime.setTimer(MINUTE_MS, () => {
        this.#timer = null;
        void this.flush();
      });
      this.#parts.log.warn(
        { err: error },
        "the node could not write refusals into the audit log, retrying in a minute",
      );
    }
  }

  #add(refused: Refused, count: number): void {
    const { action, reason, address, actor } = refused;
    const key = JSON.stringify([action, reason, address, actor.keyId]);
    const known = this.#counted.get(key);
    if (known !== undefined) known.count += count;
    else if (this.#counted.size < RECORDS_MAX) this.#counted.set(key, { refused, count });
    else this.#addOther(refused, count);
  }

  #addOther({ action }: Refused, count: number): void {
    const known = this.#counted.get(action);
    if (known !== undefined) known.count += count;
    else {
      const actor = { kind: "UNKNOWN", keyId: null, for: null } as const;
      this.#counted.set(action, { refused: { action, reason: "others", address: "", tenant: null, actor }, count });
    }
  }
}

function noteOf({ refused, count }: Counted): AuditNote {
  const { action, reason, address, tenant, actor } = refused;
  return {
    ...{ tenant: tenantOf(tenant), actor, action, target: null, outcome: "REFUSED", requestId: null },
    ...{ address: address === "" ? null : address, detail: { reason, count } },
  };
}
