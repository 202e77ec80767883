import type { Browser } from "playwright-core";
import { pause } from "../clock.ts";
import type { ListStep } from "./console-measured.ts";
import { Visit } from "./visit.ts";

/** Time in which the live list asks again several times. */
const LIVE_MS = 10_000;
/** Further pages that the visit turns to. */
const PAGES = 5;

/** Visits the list of executions several times as a user does, and measures rows and tasks of each step. The processor is not slowed. */
export async function visitList(browser: Browser, url: string, key: string, visits: number): Promise<ListStep[]> {
  const all: Step[] = [];
  for (let visit = 0; visit < visits; visit++) all.push(...(await visitOnce(browser, url, key)));
  return [...Map.groupBy(all, ({ what }) => what)].map(([what, steps]) => ({
    what,
    rows: Math.max(...steps.map(({ rows }) => rows)),
    longestTasksMs: steps.map(({ longestTaskMs }) => longestTaskMs),
  }));
}

interface Step {
  what: string;
  rows: number;
  longestTaskMs: number;
}

async function visitOnce(browser: Browser, url: string, key: string): Promise<Step[]> {
  await using visit = await Visit.open(browser, url, key);
  const { page } = visit;
  const steps: Step[] = [];
  const step = async (what: string, act: () => Promise<unknown>) => {
    await act();
    await visit.hasContent();
    // Tasks are reported after they have ended.
    await visit.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))");
    const { tasks, rows } = await visit.seen();
    steps.push({ what, rows, longestTaskMs: Math.max(0, ...tasks.map(({ fromMs, untilMs }) => untilMs - fromMs)) });
  };
  const turned = async () => {
    const next = page.getByRole("link", { name: "Next page" });
    const before = JSON.stringify(await next.getAttribute("href"));
    await next.click();
    // The links of a page come with its rows.
    await page.locator(`main nav a:not([href=${before}])`, { hasText: "Next page" }).waitFor();
  };
  await step("opened", () => visit.show("executions"));
  await step("live", () => pause(LIVE_MS));
  await step(`${PAGES} further pages`, async () => {
    for (let turn = 0; turn < PAGES; turn++) await turned();
  });
  await step("filtered by state", async () => {
    const answered = page.waitForResponse(/\/v1\/executions\?.*state=SUCCEEDED/);
    await page.getByLabel("State").selectOption("SUCCEEDED");
    await answered;
  });
  return steps;
}
