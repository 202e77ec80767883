import { monotonicMs, sleep, until } from "../../clock.ts";
import type { Dice } from "../../dice.ts";
import type { LinkName } from "../../history/events.ts";
import type { Weather, WeatherKind } from "../../stage/proxy/weather.ts";
import { busyWorker } from "../in-flight.ts";
import type { ClusterWorld, Node } from "../world.ts";

/** Bad weather on one link of one node. */

const LASTS_MS = { least: 1_000, most: 6_000 };
/** Longer than any node is stopped: nothing passes the links of a stopped node. */
const HITS_WITHIN_MS = 90_000;
const IN_USE_WITHIN_MS = 90_000;

/**
 * Disturbs a link of one node after another until a disturbance hits some traffic, or for `HITS_WITHIN_MS` at most: a
 * link can have connections and carry nothing.
 */
export async function disturb(world: ClusterWorld, link: LinkName, kind: WeatherKind): Promise<void> {
  const giveUpMs = monotonicMs() + HITS_WITHIN_MS;
  const silent = new Set<Node>();
  do {
    await busyWorker(world, 1);
    const node = await nodeInUse(world, link, silent);
    if ((await disturbNode(world, node, link, kind)) > 0) return;
    silent.add(node);
  } while (monotonicMs() < giveUpMs);
}

/** @returns the connections or messages that the weather hit */
async function disturbNode(world: ClusterWorld, node: Node, link: LinkName, kind: WeatherKind): Promise<number> {
  const { dice, history, say } = world;
  const { server, links } = node;
  const proxy = links[link];
  const weather = weatherOf(kind, dice);
  const lastsMs = dice.between(LASTS_MS.least, LASTS_MS.most);
  const [at, { pid }] = [monotonicMs(), server];
  say(`${link}_${kind} (process ${pid}) ${JSON.stringify({ ...weather, kind: undefined })}`);
  proxy.weather = weather;
  await sleep(lastsMs);
  const { hits } = proxy;
  // Another fault may have replaced the weather meanwhile, to hide the whole store.
  if (proxy.weather === weather) proxy.weather = { kind: "CLEAR" };
  history.write({ event: `${link}_${kind}`, at, pid, hits });
  say(`${link} is clear again after ${hits} hits`);
  return hits;
}

/** A node whose link has connections and no bad weather, as soon as there is one; a node that is not `silent` if there is one. */
function nodeInUse({ nodes, dice }: ClusterWorld, link: LinkName, silent: ReadonlySet<Node>): Promise<Node> {
  return until(`there are connections through a ${link}`, IN_USE_WITHIN_MS, () => {
    const inUse = dice
      .shuffle(nodes)
      .filter(({ links }) => links[link].connections > 0 && links[link].weather.kind === "CLEAR");
    return inUse.find((node) => !silent.has(node)) ?? inUse[0];
  });
}

function weatherOf(kind: WeatherKind, dice: Dice): Weather {
  if (kind === "DELAYED") return { kind, delayMs: dice.between(50, 1_500) };
  if (kind === "DROPPED") {
    return { kind, directions: dice.pick([["TO_SERVER"], ["TO_CLIENT"], ["TO_SERVER", "TO_CLIENT"]] as const) };
  }
  if (kind === "HALF_OPEN") return { kind, survivor: dice.pick(["CLIENT", "SERVER"] as const) };
  if (kind === "CUT") return { kind, afterBytes: dice.between(0, 4_000) };
  return { kind };
}
