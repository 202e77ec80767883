import { authorizes } from "./api/security.ts";
import type { Config } from "./ops/config.ts";
import type { Leases } from "./ports/leases.ts";

/** Credentials that a node shows and asks for, by its configuration. */

/** @returns whether a peer may use the API and the gateway, by its `Authorization` */
export function authorization({
  apiKey,
  apiKeyAlso,
}: Pick<Config, "apiKey" | "apiKeyAlso">): (authorization: string | undefined) => boolean {
  return apiKey === null ? () => true : authorizes(apiKey, apiKeyAlso);
}

/** Secrets of the cluster, the one in use first. */
export function secretsOf({ clusterSecret, clusterSecretAlso }: Config): string[] {
  return [clusterSecret, clusterSecretAlso].filter((secret) => secret !== null);
}

/**
 * A node that the others do not hear would own shards, and get nothing done.
 * @throws {ClusterSecretMissing} the others would refuse this one
 */
export async function checkSecret(leases: Pick<Leases, "list">, { clusterSecret }: Config): Promise<void> {
  if (clusterSecret !== null) return;
  const others = (await leases.list()).filter(({ isLiving }) => isLiving);
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
