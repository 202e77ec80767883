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
