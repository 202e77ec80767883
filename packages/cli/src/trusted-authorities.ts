import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";
import tls from "node:tls";
import { EXIT } from "./exit-codes.ts";
import { Failure } from "./failure.ts";

/**
 * Makes this process trust the authorities of MAINSPRING_TLS_CA, besides those of the system.
 * @throws {Failure} the file cannot be read or has no certificate, or Node is too old for it
 */
export function trustAuthorities(path = process.env["MAINSPRING_TLS_CA"]): void {
  if (path === undefined || path === "") return;
  if (tls.setDefaultCACertificates === undefined) {
    const instead = "set NODE_EXTRA_CA_CERTS to the same file, or install Node 22.19, 24.5 or newer";
    throw new Failure(`MAINSPRING_TLS_CA has no effect with Node ${process.versions.node}: ${instead}`, EXIT.usage);
  }
  try {
    const authorities = readFileSync(path, "utf8");
    new X509Certificate(authorities);
    tls.setDefaultCACertificates([...tls.getCACertificates("default"), authorities]);
  } catch (error) {
    const { message } = error as Error;
    throw new Failure(`MAINSPRING_TLS_CA must name a file with certificates in PEM: ${message}`, EXIT.usage);
  }
}
