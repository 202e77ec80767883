/** Names in certificates by which nodes and workers prove who they are, and the judgement of the certificate of a worker. */

/** Alternative name of a node's certificate, as mainspring://production/node. */
const NODE_URI = /^mainspring:\/\/([A-Za-z0-9._-]{1,63})\/node$/;
/** Length of names that a refusal repeats, in characters. */
const REPEATED_MAX_CHARS = 300;

/**
 * Name of the cluster whose node a certificate is of; null: it is no node's.
 * @param names alternative names as Node gives them: `DNS:localhost, URI:mainspring://production/node`
 */
export function clusterNamed(names: string | undefined): string | null {
  for (const name of uris(names)) {
    const cluster = NODE_URI.exec(name)?.[1];
    if (cluster !== undefined) return cluster;
  }
  return null;
}

/**
 * Certificate that the connection of a worker has shown. PLAIN: the connection is without TLS. UNASKED: the server knows no
 * authority of certificates. UNTRUSTED: no known authority vouches for the certificate, or not for now.
 */
export type ShownCertificate =
  | { kind: "PLAIN" }
  | { kind: "UNASKED" }
  | { kind: "NONE" }
  | { kind: "UNTRUSTED"; code: string }
  | { kind: "TRUSTED"; names: string | undefined };

/**
 * Judges the certificate of a worker whose key needs one.
 * @param certificateId key id that the certificate must name
 * @param cluster name of the cluster in the certificate of this node; null: it has none
 * @returns reason why the worker is refused, and the remedy; null: the certificate is right
 */
export function workerCertificateFault(
  certificateId: string,
  cluster: string | null,
  shown: ShownCertificate,
): string | null {
  if (shown.kind === "PLAIN")
    return "the API key requires a certificate of the worker, and this connection came without TLS, or through a proxy that speaks TLS: give the server MAINSPRING_TLS_CERT, MAINSPRING_TLS_KEY and MAINSPRING_TLS_CA, and connect the worker to it by https://";
  if (shown.kind === "UNASKED")
    return "the API key requires a certificate of the worker, and the server cannot check one: give it MAINSPRING_TLS_CA with the authority of the certificates of workers";
  if (cluster === null)
    return "the API key requires a certificate of the worker for this cluster, and the server's own certificate names no cluster: it needs the alternative name URI:mainspring://CLUSTER/node, in MAINSPRING_TLS_CERT or MAINSPRING_MESH_CERT";
  const needed = `mainspring://${cluster}/worker/${certificateId}`;
  const remedy = `set MAINSPRING_WORKER_TLS_CERT and MAINSPRING_WORKER_TLS_KEY of the worker to a certificate with the alternative name URI:${needed}`;
  if (shown.kind === "NONE") return `the API key requires a certificate, and the worker has shown none: ${remedy}`;
  if (shown.kind === "UNTRUSTED") return `${untrusted(shown.code)}: ${remedy}`;
  if (uris(shown.names).includes(needed)) return null;
  const found = (shown.names ?? "none").slice(0, REPEATED_MAX_CHARS);
  return `the certificate of the worker is not for its API key, because its alternative names are ${found}: ${remedy}`;
}

/** @param code of OpenSSL, as CERT_HAS_EXPIRED */
function untrusted(code: string): string {
  if (code === "CERT_HAS_EXPIRED") return "the certificate of the worker, or its authority's, has expired";
  if (code === "CERT_NOT_YET_VALID")
    return "the certificate of the worker is not valid yet, by the clock of the server";
  return `the certificate of the worker is not good by the authorities in MAINSPRING_TLS_CA of the server (${code})`;
}

/** Alternative names that are URIs. */
function uris(names: string | undefined): string[] {
  // Node puts a name with commas in quotes. Such a name could pass for several, and is none of Mainspring's.
  const unquoted = names?.replaceAll(/"(?:[^"\\]|\\.)*"/g, "") ?? "";
  return unquoted.split(", ").flatMap((name) => (name.startsWith("URI:") ? [name.slice(4)] : []));
}
