import type { Client, JobRequest, WorkerInfo } from "@mainspring/sdk";
import { monotonicMs, until } from "../clock.ts";
import { type ClusterEnvironment, openCluster } from "../environment/cluster.ts";
import type { Member, ProcessGroup } from "../environment/process-group.ts";
import { processGroup } from "../environment/testbed.ts";
import type { Node } from "../faults/world.ts";
import { play, type Report, type Telling } from "../play.ts";
import { everythingIsInPlace } from "./drill-run.ts";
import { type Crash, type Flight, type Flown, flightFigures, flightOf, missedGoals, textOf } from "./flights.ts";
import { shardsOf } from "./gaps.ts";

export interface FlightOptions extends Telling {
  kills: number;
  /** Whether missed goals count as violations. */
  demandsGoals: boolean;
}

type Violation = Report["violations"][number];

const NODES = 3;
/**
 * Number of jobs of each kind for each kill: the node has a third of them, and the other nodes have slots for these.
 */
const JOBS = 36;
const SLOTS = "60";
/** Duration of a job, in milliseconds: longer than the time until the node is killed, on a slow machine too. */
const WORK_MS = 12_000;
const WITHIN_MS = 120_000;

/** A node and the worker beside it, which knows no other gateway. */
interface Post {
  node: Node;
  name: string;
  processGroup: ProcessGroup;
  member: Member;
}

/**
 * Kills one node of a cluster after the other, each together with the worker beside it, while its workers have work,
 * and measures the time until that work starts again.
 * @throws {Error} something did not recover in time; the message names the folder with the logs
 */
export function flightRun({ kills, demandsGoals, ...telling }: FlightOptions): Promise<Report> {
  return play("flights", telling, async (context) => {
    const environment = await openCluster({ ...context, nodes: NODES, hasBuiltInWorkers: true });
    const posts = environment.nodes.map((node, index) => manned(context.folder, node, index));
    try {
      const flights: Flight[] = [];
      const violations: Violation[] = [];
      for (let turn = 0; turn < kills; turn++) {
        const ended = await killOne(environment, posts, turn);
        environment.say(`kill ${turn + 1}: ${textOf(ended.flights)}`);
        flights.push(...ended.flights);
        violations.push(...ended.violations);
      }
      const missed = missedGoals(flights);
      for (const what of missed) environment.say(`goal missed: ${what}`);
      if (demandsGoals) violations.push(...missed.map((what) => ({ rule: "gaps reach their goals", what })));
      return { violations, figures: { kills, ...flightFigures(flights) } };
    } finally {
      await Promise.all(posts.map((post) => post.processGroup.kill(post.member)));
      await environment.close();
    }
  });
}

function manned(folder: string, node: Node, index: number): Post {
  const name = `worker-at-node-${index + 1}`;
  const members = processGroup("worker", folder, (file) => [node.server.grpcAddress, file, SLOTS, "0", name], { name });
  return { node, name, processGroup: members, member: members.hire() };
}

async function killOne(environment: ClusterEnvironment, posts: readonly Post[], turn: number) {
  const { client } = environment;
  await everythingIsInPlace(environment);
  await until("all workers are there", WITHIN_MS, () => isComplete(client));
  const planned = posts[turn % NODES] as Post;
  const plannedCrash = await foreseen(environment, planned);
  const ids = await submitted(client, turn);
  // Every other kill hits work that was only just assigned, if the node has any yet.
  const isAtWork = turn % 2 === 0;
  if (isAtWork) await until("all of it runs", WITHIN_MS, () => areRunning(client, ids.length));
  const post = isAtWork ? await atWork(client, posts, planned) : planned;
  const crash = post === planned ? plannedCrash : await foreseen(environment, post);
  const atMs = Date.now();
  await Promise.all([post.node.server.kill(), post.processGroup.kill(post.member)]);
  const executions = await Promise.all(ids.map((id) => ended(client, id)));
  post.node.server.start();
  post.member = post.processGroup.hire();
  await post.node.server.ready();
  const shards = await shardOfEach(environment, ids);
  const flights = executions.flatMap(
    (one) => flightOf(one, shards.get(one.executionId) ?? -1, { ...crash, atMs }) ?? [],
  );
  return { flights, violations: executions.flatMap(violationsOf) };
}

/** A node of whose workers both have work, the planned one if it is such a node. Which workers get the work is chance. */
async function atWork(client: Client, posts: readonly Post[], planned: Post): Promise<Post> {
  const busy = (await aliveWorkers(client)).filter(({ running }) => running > 0);
  const { nodes } = await client.cluster.status();
  const isAtWork = ({ node, name }: Post) => {
    const nodeId = nodes.find(({ address, state }) => address === node.address && state === "LIVING")?.nodeId;
    return busy.some((one) => one.name === name) && busy.some(({ workerId }) => workerId === `builtin-${nodeId}`);
  };
  return isAtWork(planned) ? planned : (posts.find(isAtWork) ?? planned);
}

/** Shards and workers that die with the node, read before the kill. */
async function foreseen({ store, client }: ClusterEnvironment, { node, name }: Post): Promise<Omit<Crash, "atMs">> {
  const { address } = node;
  const owned = `SELECT s.id FROM shards s JOIN nodes n ON n.incarnation = s.owner WHERE n.name = '${address}'`;
  const { nodes } = await client.cluster.status();
  const nodeId = nodes.find((one) => one.address === address && one.state === "LIVING")?.nodeId;
  const worker = (await aliveWorkers(client)).find((one) => one.name === name);
  if (nodeId === undefined || worker === undefined) throw new Error(`${address} or the worker beside it is not there`);
  return { shards: shardsOf(await store.sql(owned)), builtIn: `builtin-${nodeId}`, external: worker.workerId };
}

async function aliveWorkers(client: Client): Promise<WorkerInfo[]> {
  return (await client.workers()).filter(({ state }) => state === "ALIVE");
}

/** Whether each node has its built-in worker and one beside it. */
async function isComplete(client: Client): Promise<true | null> {
  return (await aliveWorkers(client)).length === 2 * NODES ? true : null;
}

async function areRunning(client: Client, count: number): Promise<true | null> {
  const running = (await aliveWorkers(client)).reduce((sum, worker) => sum + worker.running, 0);
  return running === count ? true : null;
}

async function submitted(client: Client, turn: number): Promise<string[]> {
  const jobs = Array.from({ length: JOBS }, (_, index): JobRequest[] => [
    { target: { handler: "sleep" }, payload: { ms: WORK_MS } },
    { target: { handler: "slow" }, payload: { key: `flight-${turn}-${index}`, workMs: WORK_MS } },
  ]);
  return (await client.submitBatch(jobs.flat())).map((item) => {
    if (!("executionId" in item) || item.executionId === null) throw new Error("a job of the drill was not accepted");
    return item.executionId;
  });
}

/** Waits for the end of an execution; returns it unchanged if it does not become final in time. */
async function ended(client: Client, id: string): Promise<Flown> {
  const untilMs = monotonicMs() + WITHIN_MS;
  for (;;) {
    const execution = await client.getExecution(id, { waitSec: 30 });
    if (execution.finishedAt !== null || monotonicMs() > untilMs) return execution;
  }
}

async function shardOfEach(
  { store }: ClusterEnvironment,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await store.sql(
    `SELECT id, shard FROM executions WHERE id IN (${ids.map((id) => `'${id}'`).join(", ")})`,
  );
  return new Map(rows.split("\n").map((row) => [row.split("|")[0] as string, Number(row.split("|")[1])]));
}

/** Violations of an execution: each runs to its end once, and again only if its worker died. */
function violationsOf({ executionId, state, attempts }: Flown): Violation[] {
  const ends = attempts.map((attempt) => attempt.state);
  const isWell = state === "SUCCEEDED" && ends.every((end) => ["SUCCEEDED", "WORKER_LOST", "RELEASED"].includes(end));
  if (isWell && ends.filter((end) => end === "SUCCEEDED").length === 1) return [];
  return [
    { rule: "work of a node that died is done by others", what: `${executionId} is ${state} after ${ends.join(", ")}` },
  ];
}
