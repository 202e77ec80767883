import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = ReturnType<typeof ipaddr.parseCIDR>;

/** Globally routed IPv6. All other ranges have a special purpose, or will have one. */
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");
/**
 * Range in which networks without IPv4 reach it (NAT64): the last four bytes are the address. With other prefixes they
 * are not.
 */
const NAT64 = ipaddr.parseCIDR("64:ff9b::/96");
/**
 * Address at which one cloud (Azure) answers its machines, although it looks public. The other clouds' addresses are
 * link-local or private.
 */
const CLOUD = "168.63.129.16";

/** Addresses to which a request may go: the public internet, and the configured exceptions. */
export class AddressPolicy {
  readonly #allowed: readonly Range[];

  /** @param allowed CIDRs, as `10.0.0.0/8` or `fd00::/8` */
  constructor(allowed: readonly string[]) {
    this.#allowed = allowed.map((cidr) => ipaddr.parseCIDR(cidr));
  }

  /** @returns kind of the refused address, as `loopback`; null: requests may go there */
  refusal(text: string): string | null {
    // The library accepts more than the usual forms of an address.
    if (isIP(text) === 0) return "unknown";
    const address = ipaddr.parse(text);
    const target = targetOf(address);
    if (this.#allowed.some((range) => isIn(target, range) || isIn(address, range))) return null;
    const kind = kindOf(target);
    return kind === "unicast" ? null : kind;
  }
}

/** The IPv4 address that an IPv6 address stands for: mapped by the system, or translated on the way (NAT64). */
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
