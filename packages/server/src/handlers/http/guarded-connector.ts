import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { TerminalError } from "@mainspring/sdk";
import { buildConnector } from "undici";
import type { AddressPolicy } from "./address-policy.ts";

/** The address that would be connected to is not one that requests may go to. */
export class AddressRefused extends TerminalError {
  override readonly name = "AddressRefused";

  constructor(host: string, address: string, kind: string) {
    const where = host === address ? host : `${host} is ${address}, which`;
    super(`${where} is a ${kind} address: requests go there only if MAINSPRING_HTTP_ALLOW_PRIVATE says so`);
  }
}

type Policy = Pick<AddressPolicy, "refusal">;
/** As dns.lookup with `all: true`. */
export type Lookup = (
  host: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/**
 * Connects to nothing but what the policy lets pass. A name is judged by the addresses that it has at the moment of the
 * connection, and each connection once more by the address at its other end: what a look before would find out need not
 * be true any more.
 */
export function guardedConnector(policy: Policy, lookup: Lookup = systemLookup): buildConnector.connector {
  const connect = buildConnector({ lookup: guardedLookup(policy, lookup) } as buildConnector.BuildOptions);
  return (options, done) => {
    const { hostname } = options;
    // The system does not look up what is an address already.
    const refused = isIP(hostname) === 0 ? null : refusalOf(policy, hostname, hostname);
    if (refused !== null) return done(refused, null);
    connect(options, (...outcome) => {
      const [error, socket] = outcome;
      if (error !== null) return done(error, null);
      const found = refusalOf(policy, hostname, (socket as Socket).remoteAddress ?? "");
      if (found === null) return done(...outcome);
      socket.destroy();
      done(found, null);
    });
  };
}

function guardedLookup(policy: Policy, lookup: Lookup): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, []);
      const allowed = found.filter(({ address }) => policy.refusal(address) === null);
      const [first] = allowed;
      // A name with addresses of both kinds is reached by those that may be reached.
      if (first === undefined) return done(noneAllowed(policy, host, found), []);
      if (options.all === true) done(null, allowed);
      else done(null, first.address, first.family);
    });
  };
}

function noneAllowed(policy: Policy, host: string, found: readonly LookupAddress[]): Error {
  const [first] = found;
  if (first === undefined) return new Error(`${host} has no address`);
  return refusalOf(policy, host, first.address) as Error;
}

function refusalOf(policy: Policy, host: string, address: string): AddressRefused | null {
  const kind = policy.refusal(address);
  return kind === null ? null : new AddressRefused(host, address, kind);
}
