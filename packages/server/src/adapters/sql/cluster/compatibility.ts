import { areAdjacent, FIRST_LEVEL } from "../../../domain/cluster/feature-level.ts";
import { StoreUnusable } from "../../../ports/store.ts";
import type { Connections, Session } from "../connection/connections.ts";

/** Living nodes. Nodes of older programs have written no level, and the oldest schema has no column for it. */
const LIVING = `SELECT address, version, coalesce((to_jsonb(n)->>'feature_level')::int4, ${FIRST_LEVEL})
  FROM nodes n WHERE expires_at > statement_timestamp() ORDER BY name`;

/**
 * Feature level that every living node understands, and this program.
 * @param isShared whether the store has the leases of its nodes
 */
export async function levelOfNodes(session: Session, level: number, isShared: boolean): Promise<number> {
  if (!isShared) return level;
  const living = ((await session.run({ text: LIVING })) as [string, string, number][]).map(([, , other]) => other);
  // PostgreSQL forgets the leases when it crashes. Until this node has renewed its own, other nodes may be missing too.
  return living.length === 0 ? FIRST_LEVEL : Math.min(level, ...living);
}

/**
 * Checks whether this program can run beside the nodes that use the database now. The check comes before any change,
 * because an upgrade of the schema cannot be undone.
 * @param level feature level of this program
 * @throws {StoreUnusable} a node is more than one feature level away; the message names the node and says what to do
 */
export async function checkCompatibility(db: Connections, level: number): Promise<void> {
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
