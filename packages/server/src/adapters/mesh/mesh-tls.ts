import { ChannelCredentials } from "@grpc/grpc-js";
import type { CertificateSource } from "../../ports/certificates.ts";
import { clusterIn, nodeOrHost } from "./node-identity.ts";

/** Beginning of the address of a node that speaks TLS. */
const TLS = "https://";

/** Where and how a link connects. */
export interface Target {
  /** host:port. */
  address: string;
  credentials: ChannelCredentials;
}

/** TLS between nodes. Each node announces by its address whether it speaks TLS. */
export class MeshTls {
  readonly #certificates: CertificateSource | null;

  /** @param certificates own certificate for links, and the authorities of nodes; null: neither */
  constructor(certificates: CertificateSource | null) {
    this.#certificates = certificates;
  }

  /**
   * Name of the cluster in the own certificate, by which nodes prove themselves to each other; null: the node has no
   * such certificate, or knows no authority of others.
   */
  get cluster(): string | null {
    const { cert = null, ca = null } = this.#certificates?.current ?? {};
    return cert === null || ca === null ? null : clusterIn(cert);
  }

  /** Calls `renewed` when links that open from now on use another certificate, or other authorities. */
  onChange(renewed: () => void): void {
    this.#certificates?.onChange(renewed);
  }

  /** @param address of a node, as its lease has it */
  to(address: string): Target {
    if (!speaksTls(address)) return { address, credentials: ChannelCredentials.createInsecure() };
    const { cert = null, key = null, ca = null } = this.#certificates?.current ?? {};
    const own = cert === null || key === null ? [null, null] : [Buffer.from(key), Buffer.from(cert)];
    const authorities = ca === null ? null : Buffer.from(ca);
    const { cluster: ofThis } = this;
    // A node that has no certificate yet believes every node of its own authority. An authority of the system proves no name of a node.
    const isOwn = (cluster: string) => ca !== null && (ofThis === null || ofThis === cluster);
    const checks = { checkServerIdentity: nodeOrHost(isOwn) };
    const [ownKey = null, ownCert = null] = own;
    return {
      address: address.slice(TLS.length),
      credentials: ChannelCredentials.createSsl(authorities, ownKey, ownCert, checks),
    };
  }
}

/** Whether a node at the address speaks TLS. */
export function speaksTls(address: string): boolean {
  return address.startsWith(TLS);
}

/** Address of a node in its lease. @param address host:port */
export function announced(address: string, isTls: boolean): string {
  return isTls ? `${TLS}${address}` : address;
}
