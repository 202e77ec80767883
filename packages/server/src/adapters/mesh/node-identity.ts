import { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import { checkServerIdentity, type PeerCertificate, TLSSocket } from "node:tls";
import { clusterNamed } from "../../domain/cluster/certificate-names.ts";

/** Name of the cluster whose node a certificate is of; null: it is no node's. */
export function clusterIn(certificate: string): string | null {
  return clusterNamed(new X509Certificate(certificate).subjectAltName);
}

/** Proof of the peer of a connection, by its certificate. */
export interface PeerProof {
  /** Name of the cluster that the peer has proved to be a node of; null: it has proved nothing. */
  cluster: string | null;
  /** Whether the peer has shown a certificate that has ended, and so proves nothing. */
  hasExpired: boolean;
}

/** Proof of a peer, by a certificate of a trusted authority. */
export function proofOf(socket: Socket | undefined): PeerProof {
  if (!(socket instanceof TLSSocket)) return { cluster: null, hasExpired: false };
  // Node has the code of OpenSSL there, although its type is that of an error.
  if (!socket.authorized)
    return { cluster: null, hasExpired: String(socket.authorizationError) === "CERT_HAS_EXPIRED" };
  const cluster = clusterNamed((socket.getPeerCertificate() as Partial<PeerCertificate>).subjectaltname);
  return { cluster, hasExpired: false };
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
