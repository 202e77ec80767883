import { monotonicMs, sleep, until } from "../../clock.ts";
import type { LinkFault, LinkFaultKind } from "../../environment/proxy/link-fault.ts";
import type { LinkName } from "../../history/events.ts";
import type { SeededRandom } from "../../seeded-random.ts";
import { busyWorker } from "../in-flight.ts";
import type { ClusterWorld, Node } from "../world.ts";

/** A fault on one link of one node. */

const LASTS_MS = { least: 1_000, most: 6_000 };
/**
 * Longest wait for a disturbance to hit traffic, in milliseconds: longer than any node is stopped, because nothing
 * passes the links of a stopped node.
 */
const HITS_WITHIN_MS = 90_000;
const IN_USE_WITHIN_MS = 90_000;

/**
 * Disturbs a link of one node after another until a disturbance hits some traffic, or for `HITS_WITHIN_MS` at most: a
 * link can have connections without traffic.
 */
export async function disturb(world: ClusterWorld, link: LinkName, kind: LinkFaultKind): Promise<void> {
  const giveUpMs = monotonicMs() + HITS_WITHIN_MS;
  const silent = new Set<Node>();
  do {
    await busyWorker(world, 1);
    const node = await nodeInUse(world, link, silent);
    if ((await disturbNode(world, node, link, kind)) > 0) return;
    silent.add(node);
  } while (monotonicMs() < giveUpMs);
}

/** @returns number of connections or messages that the fault hit */
async function disturbNode(world: ClusterWorld, node: Node, link: LinkName, kind: LinkFaultKind): Promise<number> {
  const { random, history, say } = world;
  const { server, links } = node;
  const proxy = links[link];
  if (proxy === undefined) return 0;
  const linkFault = linkFaultOf(kind, random);
  const lastsMs = random.between(LASTS_MS.least, LASTS_MS.most);
  const [at, { pid }] = [monotonicMs(), server];
  say(`${link}_${kind} (process ${pid}) ${JSON.stringify({ ...linkFault, kind: undefined })}`);
  proxy.linkFault = linkFault;
  await sleep(lastsMs);
  const { hits } = proxy;
  // Another fault may have replaced this one meanwhile, to hide the whole store.
  if (proxy.linkFault === linkFault) proxy.linkFault = { kind: "CLEAR" };
  history.write({ event: `${link}_${kind}`, at, pid, hits });
  say(`${link} is clear again after ${hits} hits`);
  return hits;
}

/** Waits for a node whose link has connections and no fault; prefers nodes that are not `silent`. */
function nodeInUse({ nodes, random }: ClusterWorld, link: LinkName, silent: ReadonlySet<Node>): Promise<Node> {
  return until(`there are connections through a ${link}`, IN_USE_WITHIN_MS, () => {
    const inUse = random
      .shuffle(nodes)
      .filter(({ links }) => (links[link]?.connections ?? 0) > 0 && links[link]?.linkFault.kind === "CLEAR");
    return inUse.find((node) => !silent.has(node)) ?? inUse[0];
  });
}

function linkFaultOf(kind: LinkFaultKind, random: SeededRandom): LinkFault {
  if (kind === "DELAYED") return { kind, delayMs: random.between(50, 1_500) };
  if (kind === "DROPPED") {
    return { kind, directions: random.pick([["TO_SERVER"], ["TO_CLIENT"], ["TO_SERVER", "TO_CLIENT"]] as const) };
  }
  if (kind === "HALF_OPEN") return { kind, survivor: random.pick(["CLIENT", "SERVER"] as const) };
  if (kind === "CUT") return { kind, afterBytes: random.between(0, 4_000) };
  return { kind };
}
