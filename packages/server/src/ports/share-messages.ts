/** Parts of messages by which owners and gateways divide the slots of pools. */

/** Work of a pool that waits for a free slot, with the rank of the most urgent execution. */
export interface Demand {
  pool: string;
  rank: number;
  /**
   * Attempts per weight of the tenant whose work waits, in thousandths and over all owners; left out: the owner knows of no
   * second tenant.
   */
  share?: number;
}

/** Attempts of a tenant in a pool, as an owner tells the others. */
export interface ToldShare {
  pool: string;
  tenant: string;
  /** Average number of current attempts, in thousandths. */
  attempts: number;
}
