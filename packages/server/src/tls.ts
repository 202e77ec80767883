import type { Logger } from "pino";
import { MeshTls, speaksTls } from "./adapters/mesh/mesh-tls.ts";
import { type CertificateFiles, Certificates } from "./adapters/tls/certificates.ts";
import { isOn } from "./domain/cluster/feature-level.ts";
import { type Config, ConfigError } from "./ops/config.ts";
import { isLoopback, type ListenAddress } from "./ops/config-values.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import type { CertificateSource } from "./ports/certificates.ts";
import type { KnownNode } from "./ports/leases.ts";
import type { Readings } from "./ports/metrics.ts";
import type { Runtime } from "./ports/runtime.ts";

/** Certificates of a node, and the rules for addresses beyond its machine. */

/** Certificates of a node. */
export interface NodeTls {
  /** Certificate of the HTTP API and of gRPC; null: both speak without TLS. */
  server: CertificateSource | null;
  /** TLS of the links to other nodes. */
  mesh: MeshTls;
  /** Looks at the files of certificates now, rather than within 10 s. */
  look(): Promise<void>;
  readings(): Readings;
}

/**
 * Reads the certificates of a node, and follows their files.
 * @throws {CertificateUnusable} a file cannot be used; the message names the setting
 */
export async function openTls(
  { tls: { cert, key, ca, meshCert, meshKey } }: Config,
  { runtime, log, life }: { runtime: Runtime; log: Logger; life: Pick<Lifecycle, "started"> },
): Promise<NodeTls> {
  const open = async (files: CertificateFiles) => {
    const certificates = await Certificates.open(files, { runtime, log });
    life.started("certificates", async () => certificates.close());
    return certificates;
  };
  const server = cert === null && ca === null ? null : await open({ setting: "MAINSPRING_TLS", cert, key, ca });
  const mesh =
    meshCert === null ? server : await open({ setting: "MAINSPRING_MESH", cert: meshCert, key: meshKey, ca });
  return {
    server: cert === null ? null : server,
    mesh: new MeshTls(mesh),
    look: async () => {
      for (const one of new Set([server, mesh])) await one?.look();
    },
    readings: () => {
      const ends = [server, mesh].flatMap((one) => one?.expiresAt ?? []);
      return ends.length === 0 ? {} : { certificateExpiresSec: Math.min(...ends) / 1_000 };
    },
  };
}

/**
 * Addresses that other machines reach without TLS, as faults for people.
 * @returns the faults of a new installation; one of an earlier release gets them as warnings
 */
export function plainAddresses({ http, grpc, bus, tls }: Pick<Config, "http" | "grpc" | "bus" | "tls">): string[] {
  if (tls.cert !== null) return [];
  const isOpen = (address: ListenAddress) => !isLoopback(address);
  const faults: string[] = [];
  if (!tls.isProxied) {
    const open = [isOpen(http) && "MAINSPRING_HTTP", isOpen(grpc) && "MAINSPRING_GRPC"].filter(
      (name) => name !== false,
    );
    if (open.length > 0) {
      faults.push(
        `${open.join(" and ")} must be a loopback address such as 127.0.0.1, because keys and payloads would cross the network without TLS: ` +
          "set MAINSPRING_TLS_CERT and MAINSPRING_TLS_KEY (`mainspring certs dev` makes certificates to try it), or MAINSPRING_TLS=proxy if a proxy speaks TLS",
      );
    }
  }
  if (bus === "mesh" && isOpen(grpc) && !tls.isMeshPlain) {
    faults.push(
      "MAINSPRING_MESH_PLAINTEXT must be on while nodes speak to each other over the network without TLS: set MAINSPRING_TLS_CERT, MAINSPRING_TLS_KEY and MAINSPRING_TLS_CA instead",
    );
  }
  return faults;
}

/**
 * Refuses addresses without TLS beyond this machine, or warns where an installation of an earlier release has them.
 * @param isNew whether a program that knows TLS made the store
 * @throws {ConfigError}
 */
export function checkPlainAddresses(config: Config, isNew: boolean, log: Pick<Logger, "warn">): void {
  const faults = plainAddresses(config);
  if (isNew && faults.length > 0) throw new ConfigError(faults.join("\n"));
  for (const fault of faults) log.warn(`${fault}. A later release refuses to start`);
}

/**
 * Refuses a start with TLS beside nodes that cannot reach an address with TLS, and one without TLS beside nodes that
 * would refuse it.
 * @param others living nodes of the cluster
 * @param address of this node, as its lease will have it
 * @throws {ConfigError}
 */
export function checkTlsOfNodes(others: readonly KnownNode[], address: string, mesh: MeshTls): void {
  const old = others.find(({ level }) => !isOn("MESH_TLS", level));
  if (speaksTls(address) && old !== undefined) {
    throw new ConfigError(
      `MAINSPRING_TLS_CERT must not be set before all nodes have this release, and ${old.address} has ${old.version}`,
    );
  }
  const areSecure = others.length > 0 && others.every((other) => speaksTls(other.address));
  if (!areSecure || speaksTls(address) || mesh.cluster !== null) return;
  throw new ConfigError(
    `MAINSPRING_TLS_CERT must be set: every other node of this cluster (${others.map((other) => other.address).join(", ")}) speaks TLS, and would refuse this one`,
  );
}
