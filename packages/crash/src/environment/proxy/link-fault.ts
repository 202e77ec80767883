/** Direction as seen from the client: bytes to the server, or to the client. */
export type Direction = "TO_SERVER" | "TO_CLIENT";

export const LINK_FAULTS = ["DELAYED", "DROPPED", "HALF_OPEN", "CUT", "REPLY_SWALLOWED"] as const;
export type LinkFaultKind = (typeof LINK_FAULTS)[number];

/** Disturbance of the connections through a link. */
export type LinkFault =
  | { kind: "CLEAR" }
  /** Everything arrives `delayMs` milliseconds later. */
  | { kind: "DELAYED"; delayMs: number }
  /**
   * Packets are lost and sent again until the link is clear; then they arrive, late and in order. New connections are
   * affected too.
   */
  | { kind: "DROPPED"; directions: readonly Direction[] }
  /** One end of each connection is reset, and the other is not told; new connections are accepted and get no answer. */
  | { kind: "HALF_OPEN"; survivor: "CLIENT" | "SERVER" }
  /** Each connection is reset after this number of further bytes, possibly within a message. */
  | { kind: "CUT"; afterBytes: number }
  /** The next request on each connection arrives; instead of the answer the connection is reset. */
  | { kind: "REPLY_SWALLOWED" };

/** Server to which a link leads. */
export type Target = { path: string } | { host: string; port: number };
