import type { Browser } from "playwright-core";
import { pause } from "../clock.ts";
import type { ConsolePage, FirstView } from "./console-measured.ts";
import { interactiveMs, QUIET_MS, type Stretch } from "./interactive.ts";
import { type SentRequest, Visit } from "./visit.ts";

/** A telephone on a slow network: a quarter of the processor's speed, 1.6 Mbit/s down, 0.75 Mbit/s up, 150 ms for each round trip. */
const CPU_SLOWDOWN = 4;
const NETWORK = { offline: false, latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 };
/** Longest observation. */
const LIMIT_MS = 60_000;

/** Measures the first view of a page with an empty cache, as a slow device sees it. */
export async function firstView(browser: Browser, url: string, key: string, page: ConsolePage): Promise<FirstView> {
  await using visit = await Visit.open(browser, url, key);
  await visit.cdp.send("Emulation.setCPUThrottlingRate", { rate: CPU_SLOWDOWN });
  await visit.cdp.send("Network.emulateNetworkConditions", NETWORK);
  await visit.show(page);
  await visit.hasContent();
  const tasks: Stretch[] = [];
  for (let waitedMs = 0; waitedMs < LIMIT_MS; waitedMs += QUIET_MS) {
    await pause(QUIET_MS);
    tasks.push(...(await visit.seen()).tasks);
    const firstContentfulPaintMs = await paintOf(visit);
    const { requests } = visit;
    const seenUntilMs = Number(await visit.evaluate("performance.now()"));
    const readyMs = interactiveMs({ firstContentfulPaintMs, tasks, requests, seenUntilMs });
    if (readyMs === null) continue;
    return {
      page,
      transfers: transfersOf(requests.filter(({ fromMs }) => fromMs <= readyMs)),
      firstContentfulPaintMs,
      interactiveMs: readyMs,
      longestTaskMs: Math.max(0, ...tasks.map(({ fromMs, untilMs }) => untilMs - fromMs)),
      domNodes: Number(await visit.evaluate("document.querySelectorAll('*').length")),
    };
  }
  throw new Error(`the page was not quiet within ${LIMIT_MS / 1_000} s`);
}

async function paintOf(visit: Visit): Promise<number> {
  return Number(await visit.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime"));
}

function transfersOf(requests: readonly SentRequest[]): FirstView["transfers"] {
  return [...Map.groupBy(requests, ({ kind }) => kind)].map(([kind, group]) => ({
    kind,
    requests: group.length,
    bytes: group.reduce((sum, { bytes }) => sum + bytes, 0),
  }));
}
