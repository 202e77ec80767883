import {
  createIntake,
  JobAcceptor,
  JobRequestJudge,
  OwnShards,
  PolicyBook,
  PoolNames,
  PoolOrderings,
  RecordTaker,
  type RequestLog,
  RequestSender,
  type Store,
  TenantStores,
} from "@mainspring/server/testing";
import { TENANT } from "./tenant.ts";

type Judging = Omit<ConstructorParameters<typeof JobRequestJudge>[0], "handlers" | "pools">;
type Accepting = Pick<ConstructorParameters<typeof JobAcceptor>[0], "runtime" | "zones" | "ownShards">;
type Sending = Pick<ConstructorParameters<typeof RequestSender>[0], "log">;
type Intake = Parameters<typeof createIntake>[0];
type Taking = Pick<ConstructorParameters<typeof RecordTaker>[0], "owned" | "log">;
type Fill = Awaited<ReturnType<ConstructorParameters<typeof JobRequestJudge>[0]["handlers"]["filler"]>>;
export type Clocked = Pick<Intake, "clock">;
export type Zoned = Pick<Intake, "zones">;

const NO_POLICIES = { filler: async () => async (_tenant: string, job: Parameters<Fill>[1]) => job };

/** Decides requests as the product does, without policies of handlers. */
export function judgeOf(deps: Judging): JobRequestJudge {
  return new JobRequestJudge({ ...deps, handlers: NO_POLICIES, pools: new PoolNames(10_000, deps.runtime) });
}

/** Accepts jobs by the log of requests, as the API does. @returns null: there is no log */
export function acceptorOf(deps: Accepting & Sending, requestLog: RequestLog | undefined): JobAcceptor | null {
  if (requestLog === undefined) return null;
  const sender = new RequestSender({ ...deps, requestLog });
  const book = new PolicyBook([]);
  const poolOf = (_tenant: string, name: string) => name;
  return new JobAcceptor({ ...deps, sender, mode: "kafka", handlers: { ...NO_POLICIES, latest: () => book, poolOf } });
}

/** Takes in the records of the partitions of a server's shards. @param requestLog left out: there is no log */
export function takeRecords(
  deps: Omit<Intake, "orderings" | "ownShards" | "stores" | "tenants"> & Taking & { store: Store },
  requestLog: RequestLog | undefined,
): void {
  if (requestLog === undefined) return;
  const { store, runtime, bus } = deps;
  const orderings = new PoolOrderings(store, runtime);
  const stores = new TenantStores(store);
  const intake = createIntake({ ...deps, stores, orderings, ownShards: new OwnShards(bus) });
  const judge = judgeOf({ ...deps, orderings, intake });
  new RecordTaker({ ...deps, tenant: () => TENANT, store: store.ingest, requestLog, judge }).start();
}
