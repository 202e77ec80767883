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

/**
 * Counts connections. A connection beyond the limits is reserved: the server answers only health checks on it. When the
 * reserved connections are used up, the oldest is closed, because a health check takes only moments.
 */
export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #byPeer = new Map<string, number>();
  readonly #reserved = new Set<Socket>();
  #open = 0;

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds;
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
    socket.once("close", () => {
      this.#open--;
      const left = (this.#byPeer.get(peer) ?? 1) - 1;
      if (left === 0) this.#byPeer.delete(peer);
      else this.#byPeer.set(peer, left);
    });
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
