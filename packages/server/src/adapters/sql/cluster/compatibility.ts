import { areAdjacent, FIRST_LEVEL } from "../../../domain/cluster/feature-level.ts";
import { StoreUnusable } from "../../../ports/store.ts";
import type { Connections } from "../connection/connections.ts";

/** Nodes of older programs have written no level, and before that there was not even a column for it. */
const LIVING = `SELECT address, version, coalesce((to_jsonb(n)->>'feature_level')::int4, ${FIRST_LEVEL})
  FROM nodes n WHERE expires_at > statement_timestamp() ORDER BY name`;

/**
 * Whether this program can live beside the nodes that have the database now. Asked before anything is touched: a schema
 * that was brought up to date is not taken back.
 * @param level of this program
 * @throws {StoreUnusable} one of them is more than one feature level away; names it and says what to do
 */
export async function checkNeighbours(db: Connections, level: number): Promise<void> {
  const [exists] = await db.run("maintain", { text: "SELECT to_regclass('nodes') IS NOT NULL" });
  if (exists?.[0] !== true) return;
  const living = (await db.run("maintain", { text: LIVING })) as [string, string, number][];
  const far = living.find(([, , other]) => !areAdjacent(level, other));
  if (far === undefined) return;
  const [address, version, other] = far;
  const advice =
    level > other
      ? `bring every node to a program of level ${level - 1} first`
      : `start a program of level ${other - 1} or newer here`;
  throw new StoreUnusable(
    `The node ${address} of this cluster runs Mainspring ${version} of feature level ${other}, and this program has level ` +
      `${level}: nodes of one cluster may be one level apart, so ${advice}. Nothing was changed.`,
  );
}
