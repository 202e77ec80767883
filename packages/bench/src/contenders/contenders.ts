import { bullMq } from "./bullmq/bullmq.ts";
import type { Contender } from "./contender.ts";
import { graphile } from "./graphile/graphile.ts";
import {
  mainspring,
  mainspringDefault,
  mainspringInside,
  mainspringInsideDefault,
  mainspringSdk,
} from "./mainspring/mainspring.ts";
import { pgBoss } from "./pg-boss/pg-boss.ts";
import { river } from "./river/river.ts";

/** Contenders that are compared. */
export const CONTENDERS: readonly Contender[] = [
  mainspring,
  mainspringDefault,
  mainspringSdk,
  mainspringInside,
  mainspringInsideDefault,
  graphile,
  pgBoss(2),
  pgBoss(4),
  river,
  bullMq("everysec"),
  bullMq("always"),
];
