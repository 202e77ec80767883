import type { Incarnation } from "../domain/ids.ts";
import type { PlaceQuota, RateQuota } from "../domain/quota.ts";

/**
 * Quotas of tenants over all nodes. A node takes portions of a quota from the store ahead of its submits, so the sum of all nodes
 * stays within the quota whether or not they hear each other.
 */
export interface StoreQuotas {
  /** Takes tokens of a rate. Nobody else gets these tokens. */
  takeTokens(ask: TokenAsk): Promise<TokenAnswer>;
  /**
   * Takes places for rows that the node is about to submit, in place of those that it took before. Rows and the places of all nodes
   * are counted while no other node takes any, so together they stay within the limit.
   */
  takePlaces(ask: PlaceAsk): Promise<PlaceAnswer>;
}

interface Ask {
  tenant: string;
  /** Least number that is of use; 0: nothing is taken. */
  needed: number;
  /** Number that the node would like to have. */
  wanted: number;
}

export interface TokenAsk extends Ask {
  quota: RateQuota;
  perSec: number;
}

export interface TokenAnswer {
  taken: number;
  /** Tokens that are left in the bucket. */
  left: number;
}

export interface PlaceAsk extends Ask {
  quota: PlaceQuota;
  limit: number;
  node: Incarnation;
  /** Places of submits of the node that are under way, or whose outcome is unknown. */
  held: number;
}

export interface PlaceAnswer {
  taken: number;
  /** Rows that exist, at most the limit. */
  used: number;
  /** Places that other nodes have. */
  heldByOthers: number;
}
