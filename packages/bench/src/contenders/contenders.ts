import { bullMq } from "./bullmq/bullmq.ts";
import type { Contender } from "./contender.ts";
import { graphile } from "./graphile/graphile.ts";
import { mainspring, mainspringInside } from "./mainspring/mainspring.ts";
import { pgBoss } from "./pg-boss/pg-boss.ts";

/** Contenders that are compared. */
export const CONTENDERS: readonly Contender[] = [
  mainspring,
  mainspringInside,
  graphile,
  pgBoss(2),
  pgBoss(4),
  bullMq("everysec"),
  bullMq("always"),
];
