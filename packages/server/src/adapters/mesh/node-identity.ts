import { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import { checkServerIdentity, type PeerCertificate, TLSSocket } from "node:tls";
import { clusterNamed } from "../../domain/cluster/certificate-names.ts";

/** Name of the cluster whose node a certificate is of; null: it is no node's. */
export function clusterIn(certificate: string): string | null {
  return clusterNamed(new X509Certificate(certificate).subjectAltName);
}

/**
 * Name of the cluster that the peer of a connection has proved to be a node of, by a certificate of a trusted
 * authority; null: the peer has proved nothing.
 */
export function provenCluster(socket: Socket | undefined): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  return clusterNamed((socket.getPeerCertificate() as Partial<PeerCertificate>).subjectaltname);
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
    const cluster = clusterNamed(certificate.subjectaltname);
    return cluster !== null && isOwn(cluster) ? undefined : checkServerIdentity(host, certificate);
  };
}
