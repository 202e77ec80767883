import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { TerminalError } from "@mainspring/sdk";
import { buildConnector } from "undici";
import type { AddressPolicy } from "./address-policy.ts";

/** Error: requests may not go to the address of the connection. */
export class AddressRefused extends TerminalError {
  override readonly name = "AddressRefused";

  constructor(host: string, address: string, kind: string) {
    const where = host === address ? host : `${host} is ${address}, which`;
    super(`${where} is a ${kind} address: requests go there only if MAINSPRING_HTTP_ALLOW_PRIVATE says so`);
  }
}

type Policy = Pick<AddressPolicy, "refusal">;
/** Same signature as dns.lookup with `all: true`. */
export type Lookup = (
  host: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/**
 * Connects only to addresses that the policy allows. The connector checks the addresses of a name at the moment of the
 * connection, and the remote address of each connection once more, because the result of an earlier check may be out of
 * date.
 */
export function guardedConnector(policy: Policy, lookup: Lookup = systemLookup): buildConnector.connector {
  const connect = buildConnector({ lookup: guardedLookup(policy, lookup) } as buildConnector.BuildOptions);
  return (options, done) => {
    const { hostname } = options;
    // The system does not look up an address that is written as one.
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
      // If a name has addresses of both kinds, the allowed ones are used.
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
