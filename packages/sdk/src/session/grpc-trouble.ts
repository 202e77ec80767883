import type { GrpcTarget } from "./grpc-target.ts";

const HINT = "is MAINSPRING_GRPC_URL (or the option url) right";

/**
 * Reason why a connection ended, with the address and the likely cause.
 * @param details message of gRPC, without times, so that the same trouble always has the same text
 */
export function troubleAt({ address, isTls }: GrpcTarget, details: string): string {
  const said = plain(details);
  if (/ECONNREFUSED/.test(said)) return `connection refused at ${address}: ${HINT}, and is the server running?`;
  if (/Name resolution failed/.test(said)) return `the host of ${address} is not known: ${HINT}?`;
  if (/certificate has expired/.test(said))
    return `the certificate of ${address} has expired: the operator of the server must renew it, or the clock here is wrong`;
  if (/Protocol error/.test(said))
    return `${address} does not speak gRPC ${isTls ? "over" : "without"} TLS: ${HINT}? The HTTP API has another port`;
  return `${address}: ${said}`;
}

function plain(details: string): string {
  const reason = details.replace(/^No connection established\. Last error: (Error: )?/, "");
  return reason.replace(/ \(\d{4}-[\d:T.-]+Z\)/g, "").replace(/\.? Resolution note: *$/, "");
}
