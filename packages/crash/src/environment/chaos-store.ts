import type { ProcessFault } from "../history/events.ts";
import type { Target } from "./proxy/link-fault.ts";
import type { Proxy } from "./proxy/proxy.ts";

export type StoreFault = Extract<ProcessFault, `STORE_${string}`>;

/** Store of a cluster, with the faults that it can have. */
export interface ChaosStore {
  /** Faults that a run must show. */
  readonly faults: readonly StoreFault[];
  /** Reason why it cannot run out of space on this machine; null: it can. */
  readonly cannotBeFull: string | null;
  readonly pid: number;
  readonly target: Target;
  /** Settings of each node in addition to the address. */
  readonly settings: Readonly<Record<string, string>>;
  /** Whether applications submit in transactions of their own on it. */
  readonly isShared: boolean;
  /** Directs the link to this store, even after a change of the primary. @returns URL for a node's configuration */
  urlBy(link: Proxy, address: string): string;
  end(signal: "SIGKILL" | "SIGQUIT"): Promise<void>;
  start(): Promise<void>;
  /** Takes its space away for a time. @returns number of its complaints */
  full(forMs: number): Promise<number>;
  /** Makes one of its processes stand still for a time; null: it has no such fault. */
  readonly standStill: ((part: "PRIMARY" | "REPLICA", forMs: number) => Promise<void>) | null;
  /**
   * Kills the primary under load and promotes a copy that has all that was answered.
   * @param before called with the primary's process id; resolves when it may be killed
   */
  failOver(before: (pid: number) => Promise<void>): Promise<void>;
  /** Incarnation of the node that has this address, read from the store itself. @returns "" if it does not live */
  incarnationAt(address: string): Promise<string>;
  /** Number of shards that an incarnation owns. */
  shardsOf(incarnation: string): Promise<number>;
  close(): Promise<void>;
}
