import {
  ALONE,
  createApi,
  createGateway,
  createLog,
  FEATURE_LEVEL,
  fixedRules,
  followStoreClock,
  type Gateway,
  memoryBus,
  type NodeProfile,
  Scheduler,
  soloLeases,
  usePackagedZones,
} from "@mainspring/server/testing";
import { SimStore } from "../store/sim-store.ts";
import type { StoreData } from "../store/store-data.ts";
import { SimMetrics } from "../world/sim-metrics.ts";
import type { Timekeeper } from "./timekeeper.ts";

const log = createLog("silent");
/** The store takes no time: whoever asks is answered while the clock stands. */
const AT_ONCE = { effectAfterMs: 0, answerAfterMs: 0, givesUpAfterMs: 12_000 };
/** A submitted job starts when the clock moves, and not while it stands. */
const HINT_MS = 1;

export type Api = Awaited<ReturnType<typeof createApi>>;

export interface LocalServer {
  api: Api;
  gateway: Gateway;
  stop(): Promise<void>;
}

/** A server as a node composes it, but for sockets. */
export async function startLocalServer(time: Timekeeper, data: StoreData): Promise<LocalServer> {
  const system = time.runtime("server");
  const bus = memoryBus(system.uuid());
  const store = new SimStore({ data, node: bus.node, time: system, latency: () => AT_ONCE });
  const clock = await followStoreClock(store, system, log);
  const zones = fixedRules(usePackagedZones());
  const parts = { store, bus, clock, runtime: clock.runtime, log, metrics: new SimMetrics(), zones };
  const gateway = createGateway(parts);
  const profile: NodeProfile = {
    incarnation: bus.node,
    name: "local",
    address: "local",
    roles: ["api", "scheduler", "gateway"],
    version: "simulated",
    level: FEATURE_LEVEL,
    startedAt: parts.runtime.now(),
  };
  const leases = soloLeases();
  const scheduler = new Scheduler({ ...parts, leases, profile, terms: ALONE });
  await scheduler.start();
  const api = await createApi({
    ...parts,
    bus: { ...bus, send: (to, message) => later(time, message, () => bus.send(to, message)) },
    config: { apiKey: null },
    leases,
    about: {
      version: "simulated",
      zones,
      addresses: () => ({ http: null, grpc: null }),
      storeConnections: () => [],
      readiness: async () => ({ status: "ready", checks: [] }),
    },
  });
  const stop = async () => {
    await api.close();
    gateway.close();
    await scheduler.stop();
    clock.stop();
  };
  return { api, gateway, stop };
}

function later(time: Timekeeper, message: { kind: string }, send: () => void): void {
  if (message.kind === "HINT") time.plan(HINT_MS, send);
  else send();
}
