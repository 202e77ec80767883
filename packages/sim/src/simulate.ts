import { isFinal } from "@mainspring/server/testing";
import { allCheckers } from "./checkers/all.ts";
import type { Checker } from "./checkers/checker.ts";
import type { Shown } from "./checkers/counters-equal-a-recount.ts";
import { Ledger } from "./checkers/ledger.ts";
import { Dice } from "./dice.ts";
import { History } from "./history.ts";
import { Sightings } from "./sightings.ts";
import { EPOCH_MS, SimProcess } from "./sim-process.ts";
import { diceLatency, fairWeather, type StoreWeather } from "./store/dice-latency.ts";
import { SimStore } from "./store/sim-store.ts";
import { StoreData } from "./store/store-data.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { Faults } from "./world/faults.ts";
import { Fleet } from "./world/fleet.ts";
import { SimServer } from "./world/sim-server.ts";
import { Workload } from "./world/workload.ts";

export interface SimulationOptions {
  /** Decides everything that is left open here. */
  seed: number;
  /** How long there are submits and faults. */
  hours: number;
  workers: number;
  jobs: number;
  /** What of all that the seed plans is left in; absent: everything. For making a failing seed smaller. */
  only?: Only;
}

/** Parts of a plan. What is left out leaves the rest as it was, as far as one does not depend on the other. */
export interface Only {
  /** Numbers of faults, from 0. */
  faults?: ReadonlySet<number>;
  /** Numbers of jobs, from 1. */
  jobs?: ReadonlySet<number>;
  /** No call of the store meets a fault, but for those of the plan. */
  reliableStore?: boolean;
  /** Faults and new submits end after this; the plan is the same. */
  untilMs?: number;
}

export interface Verdict {
  seed: number;
  /** null: everything held. */
  violation: string | null;
  /** Who saw it; null: nobody had to, or the program itself failed. */
  checker: string | null;
  traceHash: string;
  simulatedMs: number;
  events: number;
  figures: Record<string, number>;
}

const HOUR_MS = 3_600_000;
/** Once faults have stopped, everything must be final within this. */
const CALM_MS = 3 * HOUR_MS;
/** Until then what faults began may still have to end. */
const CALM_LEAST_MS = 120_000;
const LOOK_EVERY_MS = 5_000;
/** How long a killed server is away. */
const RESTART_MS = [200, 10_000] as const;

/** One simulation, from a seed to a verdict: first faults, then calm; everything must hold in both. */
export async function simulate(options: SimulationOptions): Promise<Verdict> {
  return (await simulateAndTell(options)).verdict;
}

/** The same, and all that was seen. */
export async function simulateAndTell(options: SimulationOptions): Promise<{ verdict: Verdict; history: History }> {
  const world = new World(options);
  let violation: string | null = null;
  let checker: string | null = null;
  try {
    await world.run();
  } catch (error) {
    const { name, message } = error as Error;
    violation = `${name}: ${message}`;
    if (error instanceof Broken) checker = error.checker;
  }
  return { verdict: { seed: options.seed, violation, checker, ...world.figures() }, history: world.history };
}

class World {
  readonly #options: SimulationOptions;
  readonly #clock = new VirtualClock();
  readonly #dice: Dice;
  readonly history: History;
  readonly #checkers: readonly Checker[];
  readonly #data: StoreData;
  readonly #weather: StoreWeather = fairWeather();
  readonly #fleet: Fleet;
  readonly #workload: Workload;
  readonly #faults: Faults;
  readonly #sightings: Sightings;
  #server: SimServer | null = null;
  #servers = 0;
  #broken: Error | null = null;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#dice = new Dice(options.seed);
    const ledger = new Ledger();
    this.#sightings = new Sightings(ledger);
    this.#checkers = [ledger, this.#sightings, ...allCheckers(ledger, () => this.#shown())];
    this.history = new History(this.#clock, {
      saw: (event) => this.#judge((checker) => checker.saw?.(event)),
      noticed: (moment) => this.#judge((checker) => checker.noticed?.(moment)),
    });
    this.#data = new StoreData({ now: () => Math.floor(EPOCH_MS + this.#clock.nowMs) });
    this.#data.observe((event) => this.history.wrote(event));
    const server = () => this.#server;
    this.#fleet = new Fleet(this.#clock, this.#dice.fork("fleet"), this.history, server);
    this.#workload = new Workload(this.#clock, this.#dice.fork("workload"), this.history, server);
    this.#faults = new Faults(this.#clock, this.#dice.fork("faults"), this.history, {
      fleet: this.#fleet,
      store: {
        down: (forMs) => this.#storeDown(forMs),
      },
      server,
      killServer: () => this.#killServer(),
    });
  }

  async run(): Promise<void> {
    const { hours, workers, jobs, only = {} } = this.#options;
    this.#startServer();
    for (let i = 0; i < workers; i++) this.#fleet.add(i === 0);
    this.#workload.plan(jobs, hours * HOUR_MS, {
      untilMs: only.untilMs ?? Number.POSITIVE_INFINITY,
      isWanted: (job) => only.jobs?.has(job) ?? true,
    });
    if (only.reliableStore !== true) this.#unsettleStore();
    this.#faults.start(this.#dice.pick([5_000, 20_000, 120_000]), (fault) => only.faults?.has(fault) ?? true);
    await this.#advance(Math.min(hours * HOUR_MS, only.untilMs ?? Number.POSITIVE_INFINITY));
    this.#faults.stop();
    this.#weather.shares = fairWeather().shares;
    this.history.add({ kind: "CALM" });
    await this.#calm();
    this.#judge((checker) => checker.atEnd?.(this.history));
    if (this.#broken !== null) throw this.#broken;
  }

  async #calm(): Promise<void> {
    const beganMs = this.#clock.nowMs;
    while (this.#clock.nowMs < beganMs + CALM_MS) {
      await this.#advance(this.#clock.nowMs + LOOK_EVERY_MS);
      const isOpen = [...this.#data.executions.all()].some(({ state }) => !isFinal(state));
      if (this.#workload.open === 0 && !isOpen && this.#clock.nowMs >= beganMs + CALM_LEAST_MS) return;
    }
  }

  async #advance(untilMs: number): Promise<void> {
    while (this.#clock.nowMs < untilMs) {
      await this.#clock.runUntil(Math.min(untilMs, this.#clock.nowMs + LOOK_EVERY_MS), () => {
        if (this.#broken !== null) throw this.#broken;
      });
      this.#judge((checker) => checker.looked?.(this.#clock.nowMs));
    }
  }

  /** A violation stops the simulation at the event that showed it. */
  #judge(check: (checker: Checker) => void): void {
    for (const checker of this.#checkers) {
      try {
        check(checker);
      } catch (error) {
        this.#broken ??= new Broken(checker.name, error as Error);
      }
    }
  }

  #shown(): Shown[] {
    return this.#server === null ? [] : [this.#server.shown()];
  }

  #startServer(): void {
    const name = `server-${++this.#servers}`;
    const dice = this.#dice.fork(name);
    const process = new SimProcess(name, this.#clock, dice);
    const server = new SimServer(process, (at, node) => this.#connect(at, node, dice), this.history);
    this.#server = server;
    void server.start();
  }

  #connect(process: SimProcess, node: string, dice: Dice): SimStore {
    const latency = diceLatency(() => dice.roll(), this.#weather);
    const time = {
      now: () => this.#data.now(),
      monotonicMs: () => this.#clock.nowMs,
      setTimer: (delayMs: number, run: () => void) => ({ cancel: this.#clock.plan(delayMs, run) }),
    };
    return new SimStore({
      data: this.#data,
      node,
      time,
      latency,
      // Answers reach a process that is there, when it goes on.
      deliver: (run) => void process.plan(0, run),
      sighted: ({ kind, operation }) => this.history.add({ kind: "STORE_FAULT", fault: kind, operation }),
    });
  }

  #killServer(): void {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    server.process.kill();
    this.#fleet.breakConnections((connection) => connection.server === server.process);
    this.#clock.plan(this.#dice.between(...RESTART_MS), () => this.#startServer());
  }

  #unsettleStore(): void {
    const share = this.#dice.pick([0, 0.001, 0.01]);
    this.#weather.shares = { slow: 2 * share, neverArrives: share, answerLost: share, late: share };
  }

  #storeDown(forMs: number): void {
    this.#weather.isDown = true;
    this.#clock.plan(forMs, () => {
      this.#weather.isDown = false;
    });
  }

  figures(): Omit<Verdict, "seed" | "violation" | "checker"> {
    return {
      traceHash: this.history.traceHash(),
      simulatedMs: this.#clock.nowMs,
      events: this.#clock.ran,
      figures: this.#sightings.figures(),
    };
  }
}

/** Says who saw a violation. */
class Broken extends Error {
  readonly checker: string;

  constructor(checker: string, cause: Error) {
    super(`${checker}: ${cause.message}`, { cause });
    this.name = cause.name;
    this.checker = checker;
  }
}
