/** Seen from who connects: what it sends goes to the server. */
export type Direction = "TO_SERVER" | "TO_CLIENT";

export const WEATHERS = ["DELAYED", "DROPPED", "HALF_OPEN", "CUT", "REPLY_SWALLOWED"] as const;
export type WeatherKind = (typeof WEATHERS)[number];

/** Disturbance of the connections through a link. */
export type Weather =
  | { kind: "CLEAR" }
  /** Everything arrives so much later. */
  | { kind: "DELAYED"; delayMs: number }
  /** Packets are lost and sent again until it is clear: then they arrive, late and in order. New connections too. */
  | { kind: "DROPPED"; directions: readonly Direction[] }
  /** One end of each connection is reset, and the other is not told; new connections are taken and hear nothing. */
  | { kind: "HALF_OPEN"; survivor: "CLIENT" | "SERVER" }
  /** Each connection is reset after so many more bytes, in the midst of a message or not. */
  | { kind: "CUT"; afterBytes: number }
  /** The next request on each connection arrives; instead of the answer the connection is reset. */
  | { kind: "REPLY_SWALLOWED" };

/** Where a link leads. */
export type Target = { path: string } | { host: string; port: number };
