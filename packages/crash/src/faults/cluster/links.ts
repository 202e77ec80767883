import { monotonicMs, sleep, until } from "../../clock.ts";
import type { Dice } from "../../dice.ts";
import type { LinkName } from "../../history/events.ts";
import type { Weather, WeatherKind } from "../../stage/proxy/weather.ts";
import { busyWorker } from "../in-flight.ts";
import type { ClusterWorld, Node } from "../world.ts";

/** Bad weather on one link of one node. */

const LASTS_MS = { least: 1_000, most: 6_000 };
const TRIES = 5;
const IN_USE_WITHIN_MS = 90_000;

/** @returns when it hit somebody: a link may turn out to be one that nobody says anything on */
export async function disturb(world: ClusterWorld, link: LinkName, kind: WeatherKind): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) if ((await once(world, link, kind)) > 0) return;
}

async function once(world: ClusterWorld, link: LinkName, kind: WeatherKind): Promise<number> {
  const { dice, history, say } = world;
  await busyWorker(world, 1);
  const { server, links } = await nodeInUse(world, link);
  const proxy = links[link];
  const weather = weatherOf(kind, dice);
  const lastsMs = dice.between(LASTS_MS.least, LASTS_MS.most);
  const [at, { pid }] = [monotonicMs(), server];
  say(`${link}_${kind} (process ${pid}) ${JSON.stringify({ ...weather, kind: undefined })}`);
  proxy.weather = weather;
  await sleep(lastsMs);
  const { hits } = proxy;
  // Somebody may have hidden the whole store meanwhile.
  if (proxy.weather === weather) proxy.weather = { kind: "CLEAR" };
  history.write({ event: `${link}_${kind}`, at, pid, hits });
  say(`${link} is clear again after ${hits} hits`);
  return hits;
}

/** One whose link has connections and no bad weather, as soon as there is one. */
function nodeInUse({ nodes, dice }: ClusterWorld, link: LinkName): Promise<Node> {
  return until(`there are connections through a ${link}`, IN_USE_WITHIN_MS, () =>
    dice.shuffle(nodes).find(({ links }) => links[link].connections > 0 && links[link].weather.kind === "CLEAR"),
  );
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
