import type { Socket } from "node:net";

/** Limits of the connections that the server holds at once. */
export interface ConnectionBounds {
  /** Number of connections for requests of every kind. */
  total: number;
  /** Number of connections from one address; an IPv6 network of 64 bits counts as one address. */
  perPeer: number;
  /** Number of further connections, for requests to the health paths alone. */
  reserved: number;
}

/** Limits of the connections of callers, where requests need keys. */
export interface CallerBounds {
  /** Number of connections on which no request has had a good key yet; the oldest of more is closed. */
  unknown: number;
  /** Number of connections of a tenant, where there are several tenants. */
  perTenant: number;
  /** Whether requests need keys. */
  asksForKeys: () => boolean;
  hasSeveralTenants: () => boolean;
  monotonicMs: () => number;
}

/** Age in ms from which an unknown connection may be closed. Its first request needs less, and thousands may arrive at once. */
const UNKNOWN_MIN_MS = 1_000;

/** Refusals by their reason. */
export interface RefusedConnections {
  /** Connections that were closed because too many were unknown. */
  UNKNOWN: number;
  /** Requests on connections beyond those of their tenant. */
  TENANT_CONNECTIONS: number;
}

/**
 * Counts connections. A connection beyond the limits is reserved: the server answers only health checks on it. When the
 * reserved connections are used up, the oldest is closed, because a health check takes only moments.
 */
export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #byPeer = new Map<string, number>();
  readonly #reserved = new Set<Socket>();
  readonly #callers: CallerBounds | null;
  /** Connections on which no request has had a good key yet, by the time of their beginning; the oldest first. */
  readonly #unknown = new Map<Socket, number>();
  readonly #byTenant = new Map<string, number>();
  /** Tenant for which a connection counts. */
  readonly #tenants = new Map<Socket, string>();
  readonly refused: RefusedConnections = { UNKNOWN: 0, TENANT_CONNECTIONS: 0 };
  #open = 0;

  /** @param callers null: callers are not told apart */
  constructor(bounds: ConnectionBounds, callers: CallerBounds | null = null) {
    this.#bounds = bounds;
    this.#callers = callers;
  }

  /** Number of connections by kind: KNOWN, UNKNOWN and RESERVED. */
  get kinds(): ReadonlyMap<string, number> {
    const unknown = this.#unknown.size;
    return new Map([
      ["KNOWN", this.#open - unknown],
      ["UNKNOWN", unknown],
      ["RESERVED", this.#reserved.size],
    ]);
  }

  get open(): number {
    return this.#open + this.#reserved.size;
  }

  isReserved(socket: Socket): boolean {
    return this.#reserved.has(socket);
  }

  /** Counts a new connection until it is closed. */
  admit(socket: Socket): void {
    const peer = peerOf(socket.remoteAddress ?? "");
    const held = this.#byPeer.get(peer) ?? 0;
    if (this.#open >= this.#bounds.total || held >= this.#bounds.perPeer) return this.#reserve(socket);
    this.#open++;
    this.#byPeer.set(peer, held + 1);
    if (this.#callers?.asksForKeys() === true) this.#unknown.set(socket, this.#callers.monotonicMs());
    socket.once("close", () => {
      this.#open--;
      this.#unknown.delete(socket);
      this.#countFor(socket, null);
      const left = (this.#byPeer.get(peer) ?? 1) - 1;
      if (left === 0) this.#byPeer.delete(peer);
      else this.#byPeer.set(peer, left);
    });
  }

  /**
   * Takes the oldest unknown connection out of the count, if there are too many of them.
   * @param isBusy whether a request of a connection is not answered yet
   * @returns connection to close; null: none
   */
  oldestBeyond(isBusy: (socket: Socket) => boolean): Socket | null {
    if (this.#callers === null || this.#unknown.size <= this.#callers.unknown) return null;
    const before = this.#callers.monotonicMs() - UNKNOWN_MIN_MS;
    for (const [socket, sinceMs] of this.#unknown) {
      if (sinceMs > before) return null;
      if (isBusy(socket)) continue;
      this.#unknown.delete(socket);
      this.refused.UNKNOWN++;
      return socket;
    }
    return null;
  }

  /**
   * Notes that a request of a connection has a good key.
   * @param tenant tenant of the key; null: the connection counts for none
   * @returns false: the tenant has as many connections as it may have
   */
  isUsedBy(socket: Socket, tenant: string | null): boolean {
    if (this.#callers === null || this.#reserved.has(socket)) return true;
    this.#unknown.delete(socket);
    const counted = this.#callers.hasSeveralTenants() ? tenant : null;
    if ((this.#tenants.get(socket) ?? null) === counted) return true;
    if (counted !== null && (this.#byTenant.get(counted) ?? 0) >= this.#callers.perTenant) {
      this.refused.TENANT_CONNECTIONS++;
      return false;
    }
    // A closed connection has left the count.
    this.#countFor(socket, socket.destroyed ? null : counted);
    return true;
  }

  #countFor(socket: Socket, tenant: string | null): void {
    const former = this.#tenants.get(socket);
    if (former !== undefined) {
      const left = (this.#byTenant.get(former) ?? 1) - 1;
      if (left === 0) this.#byTenant.delete(former);
      else this.#byTenant.set(former, left);
      this.#tenants.delete(socket);
    }
    if (tenant === null) return;
    this.#tenants.set(socket, tenant);
    this.#byTenant.set(tenant, (this.#byTenant.get(tenant) ?? 0) + 1);
  }

  #reserve(socket: Socket): void {
    const [oldest] = this.#reserved;
    if (this.#reserved.size >= this.#bounds.reserved && oldest !== undefined) {
      this.#reserved.delete(oldest);
      oldest.destroy();
    }
    this.#reserved.add(socket);
    socket.once("close", () => this.#reserved.delete(socket));
  }
}

/** Address for counting. The addresses of one IPv6 network of 64 bits belong to one customer, so they count as one. */
export function peerOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = plain.toLowerCase().split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const missing = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array.from({ length: missing }, () => "0"), ...groups(tail ?? "")];
  return `${all.slice(0, 4).join(":")}::/64`;
}
