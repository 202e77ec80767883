import { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import { checkServerIdentity, type PeerCertificate, TLSSocket } from "node:tls";

/** Subject alternative name of a node's certificate, as mainspring://production/node. */
const NODE_URI = /^mainspring:\/\/([A-Za-z0-9._-]{1,63})\/node$/;

/** Name of the cluster whose node a certificate is of; null: it is no node's. */
export function clusterIn(certificate: string): string | null {
  return clusterOf(new X509Certificate(certificate).subjectAltName);
}

/**
 * Name of the cluster that the peer of a connection has proved to be a node of, by a certificate of a trusted
 * authority; null: the peer has proved nothing.
 */
export function provenCluster(socket: Socket | undefined): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  return clusterOf((socket.getPeerCertificate() as Partial<PeerCertificate>).subjectaltname);
}

/**
 * Checks the certificate of a server that is to be a node: the certificate is of a node of the same cluster, whatever
 * the address of the node, or of the host.
 * @param isOwn whether a name is that of the own cluster
 */
export function nodeOrHost(
  isOwn: (cluster: string) => boolean,
): (host: string, certificate: PeerCertificate) => Error | undefined {
  return (host, certificate) => {
    const cluster = clusterOf(certificate.subjectaltname);
    return cluster !== null && isOwn(cluster) ? undefined : checkServerIdentity(host, certificate);
  };
}

/** @param names as Node gives them: `DNS:localhost, URI:mainspring://production/node` */
function clusterOf(names: string | undefined): string | null {
  // Node puts a name with commas in quotes. Such a name could pass for several, and is no node's.
  const unquoted = names?.replaceAll(/"(?:[^"\\]|\\.)*"/g, "") ?? "";
  for (const name of unquoted.split(", ")) {
    const cluster = name.startsWith("URI:") ? NODE_URI.exec(name.slice(4))?.[1] : undefined;
    if (cluster !== undefined) return cluster;
  }
  return null;
}
