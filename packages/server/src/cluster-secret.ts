import type { Config } from "./ops/config.ts";
import type { KnownNode } from "./ports/leases.ts";

/** Credentials that a node presents and demands, from its configuration. */

/** Secrets of the cluster; the first one is in use. */
export function secretsOf({ clusterSecret, clusterSecretAlso }: Config): string[] {
  return [clusterSecret, clusterSecretAlso].filter((secret) => secret !== null);
}

/**
 * Refuses a start without the cluster's secret. Other nodes would reject the messages of such a node, so its shards
 * would stand still.
 * @param others living nodes of the cluster
 * @throws {ClusterSecretMissing} the other nodes would refuse this one
 */
export function checkSecret(others: readonly KnownNode[], { clusterSecret }: Pick<Config, "clusterSecret">): void {
  if (clusterSecret !== null) return;
  if (others.length === 0 || !others.every(({ hasSecret }) => hasSecret)) return;
  throw new ClusterSecretMissing(
    `every other node of this cluster (${others.map(({ address }) => address).join(", ")}) has a secret, and would refuse this one: ` +
      "set MAINSPRING_CLUSTER_SECRET to the value that they have",
  );
}

/** The other nodes of the cluster have a secret, and this one does not. */
class ClusterSecretMissing extends Error {
  override readonly name = "ClusterSecretMissing";
}
