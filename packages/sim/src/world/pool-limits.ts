import { defaultPool } from "@mainspring/server/testing";
import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { StoreData } from "../store/store-data.ts";

/** In some worlds the pool has limits, from the beginning. */
export function limitPools(data: StoreData, dice: Dice, history: History): void {
  const maxRunning = dice.chance(0.4) ? dice.between(1, 12) : null;
  const ratePerSec = dice.chance(0.15) ? dice.pick([0.4, 1, 5]) : null;
  if (maxRunning === null && ratePerSec === null) return;
  const pool = "default";
  data.pools.set(pool, { ...defaultPool(pool), maxRunning, ratePerSec });
  history.add({ kind: "LIMITED", pool, maxRunning, ratePerSec });
}
