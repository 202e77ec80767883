import process from "node:process";
import tls from "node:tls";
import { MainspringError } from "@mainspring/sdk";
import { authoritiesOfEnvironment } from "@mainspring/sdk/worker-core";
import { EXIT } from "./exit-codes.ts";
import { Failure } from "./failure.ts";

/**
 * Makes this process trust the authorities of MAINSPRING_TLS_CA, besides those of the system.
 * @throws {Failure} the file cannot be read or has no certificate, or Node is too old for it
 */
export function trustAuthorities(): void {
  const authorities = authoritiesOrFailure();
  if (authorities === null) return;
  if (tls.setDefaultCACertificates === undefined) {
    const instead = "set NODE_EXTRA_CA_CERTS to the same file, or install Node 22.19, 24.5 or newer";
    throw new Failure(`MAINSPRING_TLS_CA has no effect with Node ${process.versions.node}: ${instead}`, EXIT.usage);
  }
  tls.setDefaultCACertificates([...tls.getCACertificates("default"), authorities]);
}

function authoritiesOrFailure(): string | null {
  try {
    return authoritiesOfEnvironment();
  } catch (error) {
    if (error instanceof MainspringError) throw new Failure(error.message, EXIT.usage);
    throw error;
  }
}
