import type { TestEtcd } from "../../../../../tools/services/start-etcd.ts";
import { sleep } from "../../clock.ts";
import { busyWorker } from "../in-flight.ts";
import type { ClusterWorld } from "../world.ts";
import { note, tell } from "./nodes.ts";

/** Faults of the etcd that keeps the leases of the nodes. Each resolves when all members run again. */

const DOWN_MS = { least: 0, most: 5_000 };
/** Duration of a standstill, in milliseconds: longer than a lease. */
const STOP_MS = { least: 4_000, most: 8_000 };

export const ETCD_FAULTS = ["ETCD_KILLED", "ETCD_KILLED", "ETCD_STOPPED", "ETCD_CUT"] as const;
export type EtcdFault = (typeof ETCD_FAULTS)[number];

export const TO_ETCD: Record<EtcdFault, (world: ClusterWorld, etcd: TestEtcd) => Promise<void>> = {
  ETCD_KILLED: killMember,
  ETCD_STOPPED: stopMost,
  ETCD_CUT: cutAll,
};

/** Kills a member; every second time it is the leader. */
async function killMember(world: ClusterWorld, { members }: TestEtcd): Promise<void> {
  const { random } = world;
  await busyWorker(world, 1);
  const leading = await Promise.all(members.map((member) => member.leads()));
  const leader = members[leading.indexOf(true)];
  const member = leader !== undefined && random.chance(0.5) ? leader : random.pick(members);
  tell(world, "ETCD_KILLED", member.pid);
  await member.kill();
  await sleep(random.between(DOWN_MS.least, DOWN_MS.most));
  await member.restart();
  served(world, member.pid);
}

/** Makes a majority of the members stand still, so that no node can renew its lease. */
async function stopMost(world: ClusterWorld, { members }: TestEtcd): Promise<void> {
  const { random } = world;
  await busyWorker(world, 1);
  const stopped = random.shuffle(members).slice(0, Math.floor(members.length / 2) + 1);
  const pid = stopped[0]?.pid ?? 0;
  tell(world, "ETCD_STOPPED", pid);
  for (const member of stopped) member.freeze();
  await sleep(random.between(STOP_MS.least, STOP_MS.most));
  for (const member of stopped) member.resume();
  served(world, pid);
}

/** Drops every packet between the nodes and all members, so that the members live and no node can renew its lease. */
async function cutAll(world: ClusterWorld, { members }: TestEtcd): Promise<void> {
  const { random, etcdLinks } = world;
  await busyWorker(world, 1);
  const pid = members[0]?.pid ?? 0;
  tell(world, "ETCD_CUT", pid);
  for (const link of etcdLinks) link.linkFault = { kind: "DROPPED", directions: ["TO_SERVER", "TO_CLIENT"] };
  await sleep(random.between(STOP_MS.least, STOP_MS.most));
  for (const link of etcdLinks) link.linkFault = { kind: "CLEAR" };
  served(world, pid);
}

function served(world: ClusterWorld, pid: number): void {
  note(world, "ETCD_READY", pid);
  world.say("ETCD_READY");
}
