import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import type { Network } from "./network.ts";
import { NowAndThen } from "./now-and-then.ts";

/**
 * Time for which a node has no links, in simulated milliseconds: long enough that the others place its shards without
 * it.
 */
const LONELY_MS = [45_000, 400_000] as const;

/**
 * Breaks the links of a node to one other node or to all of them, for minutes, as a wrong key, a wrong address or a
 * broken network does.
 */
export class LonelyNodes {
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #network: Network;
  readonly #machines: readonly string[];
  readonly #times: NowAndThen;

  constructor(
    clock: VirtualClock,
    random: SeededRandom,
    history: History,
    network: Network,
    machines: readonly string[],
  ) {
    this.#random = random;
    this.#history = history;
    this.#network = network;
    this.#machines = machines;
    this.#times = new NowAndThen(clock, random);
  }

  /** @param everyMs mean interval, in simulated milliseconds */
  start(everyMs: number): void {
    this.#times.start(everyMs, () => {
      const [one, forMs] = [this.#random.pick(this.#machines), this.#random.between(...LONELY_MS)];
      const others = this.#machines.filter((machine) => machine !== one);
      const far = this.#random.chance(0.6) ? others : [this.#random.pick(others)];
      const isOneWay = this.#random.chance(0.3);
      this.#history.add({ kind: "FAULT", fault: "NETWORK_CUT", on: one, forMs });
      for (const other of far) {
        this.#network.cut(one, other, forMs);
        if (!isOneWay) this.#network.cut(other, one, forMs);
      }
    });
  }

  stop(): void {
    this.#times.stop();
  }
}
