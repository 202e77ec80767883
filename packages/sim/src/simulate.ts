import type { Latency } from "@mainspring/server/testing";
import {
  isFinal,
  latencyAtOnce,
  noFaults,
  type Role,
  randomLatency,
  SimStore,
  StoreData,
  type StoreFaultProfile,
} from "@mainspring/server/testing";
import { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import { allCheckers } from "./checkers/all.ts";
import { Broken, type Checker } from "./checkers/checker.ts";
import { Ledger } from "./checkers/recurring/ledger.ts";
import { Coverage } from "./coverage.ts";
import { History } from "./history.ts";
import { EPOCH_MS, SimProcess } from "./sim-process.ts";
import type { SimulationOptions, Verdict } from "./simulation.ts";
import { Applications, hasRequests } from "./world/applications.ts";
import { partOf } from "./world/changes.ts";
import { CrowdedInbox } from "./world/crowded-inbox.ts";
import { Drains } from "./world/drains.ts";
import { Faults } from "./world/faults.ts";
import { GoingBack, isConfirmed } from "./world/going-back.ts";
import { LonelyNodes } from "./world/lonely-nodes.ts";
import { type Machine, machinesOf, serverTraits } from "./world/machines.ts";
import { Network } from "./world/network.ts";
import { Operators } from "./world/operators.ts";
import { OtherSystems } from "./world/other-systems.ts";
import { PoolLimits } from "./world/pool-limits.ts";
import { Recurring } from "./world/recurring.ts";
import { RuleChanges, zoneIn } from "./world/rule-changes.ts";
import { Exchange } from "./world/sim-bus.ts";
import { LeaseService } from "./world/sim-leases.ts";
import { SimServer } from "./world/sim-server.ts";
import { isPoison } from "./world/sim-worker.ts";
import { Spurts } from "./world/spurts.ts";
import { type Tenants, tenantsOf } from "./world/tenants.ts";
import { viewsOf } from "./world/views.ts";
import { Fleet } from "./world/workers.ts";
import { hasEvents } from "./world/workflow-kinds.ts";
import { Workflows } from "./world/workflows.ts";
import { Workload } from "./world/workload.ts";

/** Name that stands for a checker if the product or the store itself reports an impossible state. */
const OWN_INVARIANTS = "an invariant of the program's own";
const HOUR_MS = 3_600_000;
/** Time after the faults within which every execution must be final, in simulated milliseconds. */
export const CALM_MS = 3 * HOUR_MS;
/** Time after the faults in which their effects may still have to end, in simulated milliseconds. */
const CALM_LEAST_MS = 120_000;
/** Number of recurring jobs of one simulation. */
export const RECURRING_MAX = 12;
/** Time after the faults for which recurring jobs still fire, in simulated milliseconds. */
const STILL_RECURRING_MS = 100_000;
const LOOK_EVERY_MS = 5_000;
/**
 * Number of events in one turn of the platform's event loop, because no code of a simulation waits for the platform.
 */
const EVENTS_A_TURN = 256;
/** Mean interval of operators' actions, in simulated milliseconds. */
const OPERATE_EVERY_MS = 120_000;
/** Mean interval of drains, in simulated milliseconds. */
const DRAIN_EVERY_MS = 240_000;
/**
 * One in this number of seeds has a crowded inbox once its faults have ended. Other seeds, and everything before that,
 * stay unchanged.
 */
const CROWDED_EVERY = 16;
/** One in this number of seeds has spurts of quick jobs and slow ones. Other seeds stay unchanged. */
const SPURTS_EVERY = 4;
/** Mean interval at which a node loses its links for minutes, in simulated milliseconds. */
const LONELY_EVERY_MS = 900_000;
/** Time until a killed server starts again, in simulated milliseconds. */
const RESTART_MS = [200, 10_000] as const;

/**
 * Runs one simulation, from a seed to a verdict: first with faults, then without. Every invariant must hold in both
 * phases.
 */
export async function simulate(options: SimulationOptions): Promise<Verdict> {
  return (await simulateAndTell(options)).verdict;
}

/** The same, with the whole history. */
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
    else if (name === "InvariantViolated") checker = OWN_INVARIANTS;
  }
  return { verdict: { seed: options.seed, violation, checker, ...world.figures() }, history: world.history };
}

class World {
  readonly #options: SimulationOptions;
  readonly #clock = new VirtualClock(EVENTS_A_TURN);
  readonly #random: SeededRandom;
  readonly history: History;
  readonly #checkers: readonly Checker[];
  readonly #data: StoreData;
  readonly #profile: StoreFaultProfile = noFaults();
  readonly #fleet: Fleet;
  readonly #workload: Workload;
  readonly #recurring: Recurring;
  readonly #workflows: Workflows;
  readonly #crowd: CrowdedInbox;
  readonly #spurts: Spurts;
  /** null: there is only the default tenant. */
  #tenants: Tenants | null = null;
  readonly #operators: Operators;
  readonly #limits: PoolLimits;
  readonly #drains: Drains;
  readonly #lonely: LonelyNodes;
  readonly #faults: Faults;
  readonly #goingBack: GoingBack;
  readonly #ruleChanges: RuleChanges;
  /** Every connection to the store that may still have calls on their way. */
  readonly #stores = new Set<{ store: SimStore; process: SimProcess }>();
  readonly #coverage: Coverage;
  readonly #network: Network;
  readonly #leases: LeaseService;
  /** null: the simulation has not begun. */
  #systems: OtherSystems | null = null;
  readonly #exchange: Exchange;
  readonly #machines: readonly Machine[];
  /** Random choice of the server to which a worker or a client connects. */
  readonly #turns: SeededRandom;
  #broken: Error | null = null;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    const ledger = new Ledger();
    this.#coverage = new Coverage(ledger);
    const rules = options.tzChanges === true ? { zoneIn, changeovers: () => this.#data.zones.changeovers } : null;
    const views = viewsOf(rules, options.seed, () => ({
      servers: () => this.#servers(),
      leases: this.#leases,
      data: this.#data,
      network: this.#network,
      revoked: this.#systems?.revoked ?? null,
      graphs: this.#workflows.known,
    }));
    this.#checkers = [ledger, this.#coverage, ...allCheckers(ledger, { ...views, isConfirmed: isConfirmed(options) })];
    const seers = this.#checkers.filter(({ saw }) => saw !== undefined);
    const noticers = this.#checkers.filter(({ noticed }) => noticed !== undefined);
    this.history = new History(this.#clock, {
      saw: (event) => this.#judge(seers, (checker) => checker.saw?.(event)),
      noticed: (event) => this.#judge(noticers, (checker) => checker.noticed?.(event)),
    });
    this.#data = new StoreData({
      now: () => Math.floor(EPOCH_MS + this.#clock.nowMs),
      isTelling: () => hasEvents(options.seed),
      refuses: ({ result }) => (result !== null && isPoison(result) ? "the store does not hold this" : null),
    });
    this.#data.observe((event) => this.history.wrote(event));
    this.#network = new Network(this.#clock, this.#random.fork("network"));
    this.#leases = new LeaseService(this.#clock, this.#random.fork("leases"));
    this.#network.observe((what) => this.history.add({ kind: "NETWORK_FAULT", fault: what }));
    this.#exchange = new Exchange(this.#network);
    this.#machines = machinesOf(options.nodes, this.#random.fork("machines"));
    this.#turns = this.#random.fork("turns");
    const server = (role: Role) => this.#anyServer(role);
    this.#fleet = new Fleet(this.#clock, this.#random.fork("fleet"), this.history, () => server("gateway"));
    this.#workload = new Workload(this.#clock, this.#random.fork("workload"), this.history, () => server("api"));
    this.#recurring = new Recurring(this.#clock, this.#random.fork("recurring"), this.history, () => server("api"));
    this.#workflows = new Workflows(this.#clock, this.#random.fork("workflows"), this.history, () => server("api"));
    this.#spurts = new Spurts(this.#clock, this.#random.fork("spurts"), this.history, () => server("api"));
    this.#crowd = new CrowdedInbox(this.#clock, this.#random.fork("crowd"), this.history, () => server("api"));
    const isPaused = () => this.#data.pools.get("default")?.paused ?? false;
    const random = this.#random.fork("operators");
    const api = () => server("api");
    this.#ruleChanges = new RuleChanges(this.#clock, this.#random.fork("rule changes"), this.history, api);
    this.#operators = new Operators(this.#clock, random, this.history, () => server("api"), isPaused);
    this.#limits = new PoolLimits(this.#clock, this.#random.fork("limits"), () => server("api"));
    this.#drains = new Drains(this.#clock, this.#random.fork("drains"), this.history, this.#leases);
    const machines = this.#machines.map(({ name }) => name);
    this.#lonely = new LonelyNodes(this.#clock, this.#random.fork("lonely"), this.history, this.#network, machines);
    this.#faults = new Faults(this.#clock, this.#random.fork("faults"), this.history, {
      fleet: this.#fleet,
      store: { down: (forMs) => this.#storeDown(forMs) },
      network: this.#network,
      leases: this.#leases,
      servers: () => this.#servers(),
      machines,
      kill: (victim) => this.#kill(victim),
    });
    this.#goingBack = new GoingBack(this.#clock, this.#random.fork("going back"), this.history, {
      copy: () => this.#data.copy(),
      goBack: (copy) => this.#goBack(() => this.#data.goBack(copy)),
      rewind: (copy) => this.#goBack(() => this.#data.rewind(copy)),
      ...{ raiseGeneration: () => this.#data.raiseGeneration(), unconfirmed: (are) => this.#unconfirmed(are) },
      breakConnections: () => this.#breakStoreConnections(),
      down: (forMs) => this.#storeDown(forMs),
      stopServers: () => {
        for (const server of this.#servers()) this.#kill(server);
      },
    });
  }

  async run(): Promise<void> {
    const { seed, hours, nodes, workers, jobs, waysBack = [], tzChanges = false, only = {} } = this.#options;
    const parts = { clock: this.#clock, random: this.#random, history: this.history };
    const [data, server] = [this.#data, () => this.#anyServer("api")];
    const targets = { data, server, storeDown: (forMs: number) => this.#storeDown(forMs) };
    const clients = [this.#workload, this.#recurring, this.#workflows];
    const production = { submits: Math.ceil(jobs / 2), withinMs: hours * HOUR_MS, only: partOf(only) };
    this.#systems = new OtherSystems(seed, parts, clients, targets, production);
    if (hasRequests(seed))
      new Applications(this.#clock, this.#random.fork("applications"), this.#data).plan(
        Math.ceil(jobs / 4),
        hours * HOUR_MS,
        partOf(only),
      );
    this.#limits.start(this.#data);
    if (tzChanges) this.#ruleChanges.start();
    for (const machine of this.#machines) this.#start(machine);
    for (let i = 0; i < workers; i++) this.#fleet.add(i === 0);
    this.#workload.plan(jobs, hours * HOUR_MS, partOf(only, only.jobs));
    const recurring = tzChanges ? 5 * RECURRING_MAX : this.#random.fork("recurring jobs").between(0, RECURRING_MAX);
    const recurringEndMs = hours * HOUR_MS + STILL_RECURRING_MS;
    this.#recurring.plan(recurring, hours * HOUR_MS, recurringEndMs, partOf(only, only.recurring));
    this.#workflows.plan(seed, Math.ceil(jobs / 10), hours * HOUR_MS, recurringEndMs, partOf(only, only.workflows));
    if (this.#options.seed % SPURTS_EVERY === 2)
      this.#spurts.plan(Math.min(hours * HOUR_MS, only.untilMs ?? Number.POSITIVE_INFINITY));
    this.#tenants = tenantsOf(seed, parts, data, () => this.#anyServer("scheduler"));
    this.#tenants?.plan(Math.min(hours * HOUR_MS, only.untilMs ?? Number.POSITIVE_INFINITY));
    if (only.reliableStore !== true) this.#unsettleStore();
    if (only.reliableNetwork !== true) this.#unsettleNetwork();
    this.#faults.start(this.#random.pick([5_000, 20_000, 120_000]), (fault) => only.faults?.has(fault) ?? true);
    if (waysBack.length > 0) this.#goingBack.start(waysBack);
    this.#operators.start(OPERATE_EVERY_MS);
    if (nodes > 1) this.#drains.start(DRAIN_EVERY_MS);
    if (nodes > 1 && only.reliableNetwork !== true && only.faults?.size !== 0) this.#lonely.start(LONELY_EVERY_MS);
    await this.#advance(Math.min(hours * HOUR_MS, only.untilMs ?? Number.POSITIVE_INFINITY));
    this.#lonely.stop();
    this.#faults.stop();
    this.#goingBack.stop();
    this.#ruleChanges.stop();
    this.#operators.stop();
    this.#limits.stop(this.#data);
    this.#drains.stop();
    this.#profile.shares = noFaults().shares;
    this.#systems.calm();
    this.history.add({ kind: "CALM" });
    if (this.#options.seed % CROWDED_EVERY === CROWDED_EVERY - 1) this.#crowd.start();
    if (this.#options.seed % SPURTS_EVERY === 2) this.#spurts.planLast();
    this.#tenants?.planLast();
    await this.#calm();
    this.#judge(this.#checkers, (checker) => checker.atEnd?.(this.history));
    if (this.#broken !== null) throw this.#broken;
  }

  #goBack(become: () => void): void {
    become();
    this.#operators.storeWentBack();
    this.#workflows.storeWentBack();
  }

  async #calm(): Promise<void> {
    const beganMs = this.#clock.nowMs;
    while (this.#clock.nowMs < beganMs + CALM_MS) {
      await this.#advance(this.#clock.nowMs + LOOK_EVERY_MS);
      const isOpen = [...this.#data.executions.all()].some(({ state }) => !isFinal(state));
      const isRunning = [...this.#data.deadLetterRuns.values()].some(({ finishedAt }) => finishedAt === null);
      const isPlanned = [...this.#data.plans.all()].some(({ plan }) => plan.state === "ACTIVE");
      if (
        this.#workload.open + this.#recurring.open + this.#workflows.open + this.#spurts.open === 0 &&
        !isOpen &&
        !isPlanned &&
        !isRunning &&
        !this.#crowd.isOpen &&
        this.#clock.nowMs >= beganMs + Math.max(CALM_LEAST_MS, this.#tenants?.lastMs ?? 0)
      )
        return;
    }
  }

  async #advance(untilMs: number): Promise<void> {
    while (this.#clock.nowMs < untilMs) {
      await this.#clock.runUntil(Math.min(untilMs, this.#clock.nowMs + LOOK_EVERY_MS), () => {
        if (this.#broken !== null) throw this.#broken;
      });
      this.#judge(this.#checkers, (checker) => checker.looked?.(this.#clock.nowMs));
    }
  }

  /** A violation stops the simulation at the event that showed it. */
  #judge(checkers: readonly Checker[], check: (checker: Checker) => void): void {
    let judging = 0;
    try {
      for (; judging < checkers.length; judging++) check(checkers[judging] as Checker);
    } catch (error) {
      this.#broken ??= new Broken((checkers[judging] as Checker).name, error as Error);
    }
  }

  #servers(): SimServer[] {
    return this.#machines.flatMap(({ server }) => server ?? []);
  }

  #anyServer(role: Role): SimServer | null {
    const able = this.#machines.filter((machine) => machine.roles.includes(role) && machine.server !== null);
    return able.length === 0 ? null : this.#turns.pick(able).server;
  }

  #start(machine: Machine): void {
    const name = `${machine.name}.${++machine.lives}`;
    const random = this.#random.fork(name);
    const process = new SimProcess(name, this.#clock, random);
    machine.server = new SimServer(process, machine.name, machine.roles, {
      exchange: this.#exchange,
      leases: this.#leases,
      connect: (at, node) =>
        this.#connect(
          at,
          node,
          randomLatency(() => random.next(), this.#profile),
        ),
      connectZones: (at, node) => this.#connect(at, node, latencyAtOnce(this.#profile)),
      offered: () => this.#ruleChanges.offered(),
      history: this.history,
      ...serverTraits(this.#options.seed),
      systems: this.#systems,
    });
    void machine.server.start();
  }

  #connect(process: SimProcess, node: string, latency: Latency): SimStore {
    const time = {
      now: () => this.#data.now(),
      monotonicMs: () => this.#clock.nowMs,
      setTimer: (delayMs: number, run: () => void) => ({ cancel: this.#clock.plan(delayMs, run) }),
    };
    const store = new SimStore({
      data: this.#data,
      node,
      time,
      latency,
      // Answers reach a living process, after a pause if need be.
      deliver: (run) => process.take(run),
      onFault: ({ kind, operation }) => this.history.add({ kind: "STORE_FAULT", fault: kind, operation }),
    });
    if (this.#options.waysBack !== undefined) this.#stores.add({ store, process });
    return store;
  }

  /** Breaks all connections to the store, also those of dead servers: a call that such a server sent may still arrive. */
  #breakStoreConnections(): void {
    for (const connected of this.#stores) {
      connected.store.breakOff();
      if (!connected.process.isAlive) this.#stores.delete(connected);
    }
  }

  #kill(server: SimServer): void {
    const machine = this.#machines.find((one) => one.server === server);
    if (machine === undefined) return;
    machine.server = null;
    server.process.kill();
    this.#fleet.breakConnections((connection) => connection.server === server.process);
    this.#clock.plan(this.#random.between(...RESTART_MS), () => this.#start(machine));
  }

  #unsettleNetwork(): void {
    const share = this.#random.pick([0, 0.005, 0.03]);
    this.#network.shares = { lost: share, repeated: share, held: share };
  }

  #unsettleStore(): void {
    const share = this.#random.pick([0, 0.001, 0.01]);
    this.#profile.shares = { slow: 2 * share, neverArrives: share, answerLost: share, late: share };
  }

  #unconfirmed(are: boolean): void {
    this.#profile.isUnconfirmed = are;
  }

  #storeDown(forMs: number): void {
    this.#profile.isDown = true;
    this.#clock.plan(forMs, () => void (this.#profile.isDown = false));
  }

  figures(): Omit<Verdict, "seed" | "violation" | "checker"> {
    return {
      traceHash: this.history.traceHash(),
      simulatedMs: this.#clock.nowMs,
      events: this.#clock.ran,
      figures: this.#coverage.figures(),
    };
  }
}
