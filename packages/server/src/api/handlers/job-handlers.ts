import type { JobSubmission } from "@mainspring/contract";
import { DEFAULT_POOL } from "../../domain/job.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import { type PoolOf, poolsBy } from "../../security/tenant-ring.ts";
import type { Problem } from "../http/errors.ts";
import type { Idempotency } from "../submit/job-intake.ts";
import { filledIn } from "./fill-in.ts";
import { KeptPolicies, type PolicyBook } from "./kept-policies.ts";
import { HandlerOffers, type OffersParts } from "./offers.ts";

export type Fill = (
  tenant: string,
  job: JobSubmission,
  payload: Uint8Array | null,
  idempotency?: Idempotency,
) => Promise<JobSubmission | Problem>;

/** Handlers as the routes that take jobs look at them: what their tasks declare, and who offers them. */
export class JobHandlers {
  readonly offers: HandlerOffers;
  readonly poolOf: PoolOf;
  readonly #kept: KeptPolicies;

  constructor(parts: OffersParts & ConstructorParameters<typeof KeptPolicies>[0] & { poolOf?: PoolOf }) {
    this.offers = new HandlerOffers(parts);
    this.poolOf = parts.poolOf ?? poolsBy(undefined);
    this.#kept = new KeptPolicies(parts);
  }

  /**
   * Fills in what jobs of one request leave out.
   * @param isRepeat whether a submit was answered before: then the policies of today do not matter
   * @throws {StoreUnavailable}
   */
  filler(isRepeat: (idempotency: Idempotency) => Promise<boolean> = async () => false): Promise<Fill> {
    return JobHandlers.fillerFrom(this.#kept, this.poolOf, isRepeat);
  }

  /** The same, from policies that are read elsewhere. @throws {StoreUnavailable} */
  static async fillerFrom(
    kept: Pick<KeptPolicies, "read">,
    poolOf: PoolOf,
    isRepeat: (idempotency: Idempotency) => Promise<boolean> = async () => false,
  ): Promise<Fill> {
    const book = await kept.read();
    const repeats = new Map<Idempotency, Promise<boolean>>();
    return async (tenant, job, payload, idempotency = null) => {
      const filled = filledIn(job, payload, book, { tenant, poolOf });
      if (!("status" in filled)) return filled;
      const repeat = repeats.get(idempotency) ?? isRepeat(idempotency);
      repeats.set(idempotency, repeat);
      return (await repeat) ? job : filled;
    };
  }

  /** The policies as they were read last; a later read is begun if that is long ago. */
  latest(): PolicyBook {
    return this.#kept.latest();
  }

  /** Policies of all handlers. @throws {StoreUnavailable} */
  policies(): Promise<PolicyBook> {
    return this.#kept.read();
  }

  /** The field `warnings` of an answer about the job. @param others warnings that there are already */
  async warnings(
    tenant: Tenant,
    { target }: JobSubmission,
    others: readonly string[] = [],
  ): Promise<{ warnings?: string[] }> {
    const unserved = await this.offers.warning(tenant, target.pool ?? DEFAULT_POOL, target.handler);
    const warnings = unserved === null ? [...others] : [...others, unserved];
    return warnings.length === 0 ? {} : { warnings };
  }
}
