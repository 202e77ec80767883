import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = ReturnType<typeof ipaddr.parseCIDR>;

/** All of IPv6 that is routed in the world; what else there is has a special purpose, or will have one. */
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");
/** Where networks without IPv4 reach it (NAT64): the last four bytes are the address. With other prefixes they are not. */
const NAT64 = ipaddr.parseCIDR("64:ff9b::/96");
/** Looks like anybody's address, and is where a cloud answers its machines (Azure). The other clouds' are link-local or private. */
const CLOUD = "168.63.129.16";

/** Which addresses a request may go to: those of the public internet, and what the configuration allows. */
export class AddressPolicy {
  readonly #allowed: readonly Range[];

  /** @param allowed CIDRs, as `10.0.0.0/8` or `fd00::/8` */
  constructor(allowed: readonly string[]) {
    this.#allowed = allowed.map((cidr) => ipaddr.parseCIDR(cidr));
  }

  /** @returns null where it may be connected to; else what kind of address it is, as `loopback` */
  refusal(text: string): string | null {
    // The library reads more than addresses are written as.
    if (isIP(text) === 0) return "unknown";
    const address = ipaddr.parse(text);
    const target = targetOf(address);
    if (this.#allowed.some((range) => isIn(target, range) || isIn(address, range))) return null;
    const kind = kindOf(target);
    return kind === "unicast" ? null : kind;
  }
}

/** The IPv4 address behind one of IPv6: mapped by the system, or translated on the way (NAT64). */
function targetOf(address: Address): Address {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return isIn(address, NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;
}

function kindOf(address: Address): string {
  if (address.toString() === CLOUD) return "metadata";
  const range = address.range();
  if (range === "unicast" && address instanceof ipaddr.IPv6 && !isIn(address, GLOBAL_IPV6)) return "reserved";
  return range;
}

function isIn(address: Address, [base, bits]: Range): boolean {
  return address.kind() === base.kind() && address.match(base, bits);
}
