import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import type { Network } from "./network.ts";
import { NowAndThen } from "./now-and-then.ts";

/** How long a node stays without its links: long enough that the others place its shards without it, and judge that. */
const LONELY_MS = [45_000, 400_000] as const;

/** Takes the links of a node to one other node or to all of them, for minutes: a wrong key, a wrong address, a broken network. */
export class LonelyNodes {
  readonly #dice: Dice;
  readonly #history: History;
  readonly #network: Network;
  readonly #machines: readonly string[];
  readonly #times: NowAndThen;

  constructor(clock: VirtualClock, dice: Dice, history: History, network: Network, machines: readonly string[]) {
    this.#dice = dice;
    this.#history = history;
    this.#network = network;
    this.#machines = machines;
    this.#times = new NowAndThen(clock, dice);
  }

  /** @param everyMs how long it is from one to the next, about */
  start(everyMs: number): void {
    this.#times.start(everyMs, () => {
      const [one, forMs] = [this.#dice.pick(this.#machines), this.#dice.between(...LONELY_MS)];
      const others = this.#machines.filter((machine) => machine !== one);
      const far = this.#dice.chance(0.6) ? others : [this.#dice.pick(others)];
      const isOneWay = this.#dice.chance(0.3);
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
