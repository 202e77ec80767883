import { isFinal } from "@mainspring/server/testing";
import { allCheckers } from "./checkers/all.ts";
import type { Checker } from "./checkers/checker.ts";
import { Dice } from "./dice.ts";
import { History } from "./history.ts";
import { EPOCH_MS, SimProcess } from "./sim-process.ts";
import { diceLatency, fairWeather, type StoreWeather } from "./store/dice-latency.ts";
import { SimStore } from "./store/sim-store.ts";
import { type StoreBugs, StoreData } from "./store/store-data.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { Faults } from "./world/faults.ts";
import { Fleet } from "./world/fleet.ts";
import { Operators } from "./world/operators.ts";
import { SimServer } from "./world/sim-server.ts";
import { Workload } from "./world/workload.ts";

export interface SimulationOptions {
  /** Decides everything that is left open here. */
  seed: number;
  /** How long there are submits and faults. */
  hours: number;
  workers: number;
  jobs: number;
  /** The store is broken on purpose: whoever judges must notice. */
  bugs?: StoreBugs;
}

export interface Verdict {
  seed: number;
  /** null: everything held. */
  violation: string | null;
  traceHash: string;
  simulatedMs: number;
  events: number;
  figures: Record<string, number>;
}

const HOUR_MS = 3_600_000;
/** Once faults have stopped, everything must be final within this. */
const CALM_MS = 3 * HOUR_MS;
const CALM_STEP_MS = 60_000;
/** How often somebody who runs the servers does something. */
const OPERATE_EVERY_MS = 120_000;
/** How long a killed server is away. */
const RESTART_MS = [200, 10_000] as const;

/** One simulation, from a seed to a verdict: first faults, then calm; everything must hold in both. */
export async function simulate(options: SimulationOptions): Promise<Verdict> {
  const world = new World(options);
  let violation: string | null = null;
  try {
    await world.run();
  } catch (error) {
    violation = `${(error as Error).name}: ${(error as Error).message}`;
  }
  return { seed: options.seed, violation, ...world.figures() };
}

class World {
  readonly #options: SimulationOptions;
  readonly #clock = new VirtualClock();
  readonly #dice: Dice;
  readonly #history: History;
  readonly #checkers: Checker[] = allCheckers();
  readonly #data: StoreData;
  readonly #weather: StoreWeather = fairWeather();
  readonly #fleet: Fleet;
  readonly #workload: Workload;
  readonly #operators: Operators;
  readonly #faults: Faults;
  readonly #sightings = new Map<string, number>();
  #server: SimServer | null = null;
  #servers = 0;
  #broken: Error | null = null;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#dice = new Dice(options.seed);
    this.#history = new History(this.#clock);
    const { bugs = {} } = options;
    this.#data = new StoreData({ now: () => Math.floor(EPOCH_MS + this.#clock.nowMs), bugs });
    this.#data.observe((event) => {
      this.#history.trace([event.kind, event.kind === "COMMITTED" ? event.asked : null]);
      for (const checker of this.#checkers) this.#judge(() => checker.saw?.(event));
    });
    const server = () => this.#server;
    this.#fleet = new Fleet(this.#clock, this.#dice.fork("fleet"), this.#history, server);
    this.#workload = new Workload(this.#clock, this.#dice.fork("workload"), this.#history, server);
    this.#operators = new Operators(this.#clock, this.#dice.fork("operators"), this.#history, server);
    this.#faults = new Faults(this.#clock, this.#dice.fork("faults"), this.#history, {
      fleet: this.#fleet,
      store: {
        setUnreliable: (is) => this.#setWeather(is),
        down: (forMs) => this.#storeDown(forMs),
      },
      server,
      killServer: () => this.#killServer(),
    });
  }

  async run(): Promise<void> {
    const { hours, workers, jobs } = this.#options;
    this.#startServer();
    for (let i = 0; i < workers; i++) this.#fleet.add(i === 0);
    this.#workload.plan(jobs, hours * HOUR_MS);
    this.#faults.start(this.#dice.pick([5_000, 20_000, 120_000]));
    this.#operators.start(OPERATE_EVERY_MS);
    await this.#advance(hours * HOUR_MS);
    this.#faults.stop();
    this.#operators.stop();
    await this.#calm();
    for (const checker of this.#checkers) checker.atEnd?.(this.#history);
  }

  async #calm(): Promise<void> {
    const endMs = this.#clock.nowMs + CALM_MS;
    while (this.#clock.nowMs < endMs) {
      await this.#advance(this.#clock.nowMs + CALM_STEP_MS);
      const open = [...this.#data.executions.all()].some(({ state }) => !isFinal(state));
      const runs = [...this.#data.deadLetterRuns.values()].some(({ finishedAt }) => finishedAt === null);
      if (this.#workload.open === 0 && !open && !runs) return;
    }
  }

  async #advance(untilMs: number): Promise<void> {
    await this.#clock.runUntil(untilMs, () => {
      if (this.#broken !== null) throw this.#broken;
    });
  }

  /** A violation stops the simulation at the event that showed it. */
  #judge(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#broken ??= error as Error;
    }
  }

  #startServer(): void {
    const name = `server-${++this.#servers}`;
    const dice = this.#dice.fork(name);
    const process = new SimProcess(name, this.#clock, dice);
    const server = new SimServer(process, (at, node) => this.#connect(at, node, dice));
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
      sighted: ({ kind }) => this.#count(kind),
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

  #setWeather(isUnreliable: boolean): void {
    const share = isUnreliable ? this.#dice.pick([0, 0.001, 0.01]) : 0;
    this.#weather.shares = { slow: 2 * share, neverArrives: share, answerLost: share, late: share };
    if (!isUnreliable) this.#weather.isDown = false;
  }

  #storeDown(forMs: number): void {
    this.#weather.isDown = true;
    this.#clock.plan(forMs, () => {
      this.#weather.isDown = false;
    });
  }

  #count(what: string): void {
    this.#sightings.set(what, (this.#sightings.get(what) ?? 0) + 1);
  }

  figures(): Omit<Verdict, "seed" | "violation"> {
    for (const { kind } of this.#history.moments) this.#count(kind);
    for (const { fault } of this.#history.of("FAULT")) this.#count(fault);
    for (const { deed } of this.#history.of("OPERATED")) this.#count(deed);
    return {
      traceHash: this.#history.traceHash(),
      simulatedMs: this.#clock.nowMs,
      events: this.#clock.ran,
      figures: Object.fromEntries([...this.#sightings].sort()),
    };
  }
}
