import type { StoreData } from "@mainspring/server/parts";
import {
  ALONE,
  createApi,
  createGateway,
  createLog,
  FEATURE_LEVEL,
  fixedRules,
  followStoreClock,
  type Gateway,
  HandlerPolicies,
  LogKeeper,
  memoryBus,
  type NodeProfile,
  Scheduler,
  SimMetrics,
  SimStore,
  soloLeases,
  usePackagedZones,
} from "@mainspring/server/parts";
import type { Timekeeper } from "./timekeeper.ts";

const log = createLog("silent");
/** The store takes no simulated time, so that it answers while the clock stands. */
const AT_ONCE = { effectAfterMs: 0, answerAfterMs: 0, givesUpAfterMs: 12_000 };
/** Delay of hints, in milliseconds: a submitted job starts when the clock moves, and not while it stands. */
const HINT_MS = 1;

/** Jobs may have `onFinish`, so that tests run them as they are; no webhook is sent. */
const WEBHOOKS = {
  urlFault: (url: string) => (/^https?:/i.test(url) && URL.canParse(url) ? null : "must be an http or https URL"),
  ...{ signsEnds: true, tellsSubscriptions: false },
  newSecret: () => "",
};

export type Api = Awaited<ReturnType<typeof createApi>>;

export interface LocalServer {
  api: Api;
  gateway: Gateway;
  /** Brings the policies of tasks to the store: every job that is submitted afterwards gets them. */
  keepPolicies(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server with the same parts as a node, except for sockets. */
export async function startLocalServer(time: Timekeeper, data: StoreData): Promise<LocalServer> {
  const system = time.runtime("server");
  const bus = memoryBus(system.uuid());
  const store = new SimStore({ data, node: bus.node, time: system, latency: () => AT_ONCE });
  const clock = await followStoreClock(store, system, log);
  const zones = fixedRules(usePackagedZones());
  const parts = { store, bus, clock, runtime: clock.runtime, log, metrics: new SimMetrics(), zones };
  const leases = soloLeases();
  const policies = new HandlerPolicies({ ...parts, leases, level: FEATURE_LEVEL });
  const logs = new LogKeeper(parts);
  const gateway = createGateway({ ...parts, policies, logs });
  const profile: NodeProfile = {
    incarnation: bus.node,
    name: "local",
    address: "local",
    roles: ["api", "scheduler", "gateway"],
    version: "simulated",
    level: FEATURE_LEVEL,
    startedAt: parts.runtime.now(),
  };
  const scheduler = new Scheduler({ ...parts, leases, profile, terms: ALONE });
  await scheduler.start();
  const api = await createApi({
    ...parts,
    bus: { ...bus, send: (to, message) => later(time, message, () => bus.send(to, message)) },
    config: { apiKey: null },
    leases,
    webhooks: WEBHOOKS,
    about: {
      version: "simulated",
      zones,
      addresses: () => ({ http: null, grpc: null }),
      durability: { store: "EMBEDDED", disk: "ALWAYS", replicas: 0 },
      storeConnections: () => [],
      readiness: async () => ({ status: "ready", checks: [] }),
    },
  });
  const stop = async () => {
    await api.close();
    gateway.close();
    await logs.stop();
    await policies.stop();
    await scheduler.stop();
    clock.stop();
  };
  return { api, gateway, keepPolicies: () => policies.flush(), stop };
}

function later(time: Timekeeper, message: { kind: string }, send: () => void): void {
  if (message.kind === "HINT") time.plan(HINT_MS, send);
  else send();
}
