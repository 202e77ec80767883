import assert from "node:assert/strict";
import { until } from "@mainspring/server/testing";
import type { Page } from "playwright-core";
import { startBrowser } from "../console/browser.ts";
import { serveSite } from "./serve.ts";

/**
 * Reads a built site as a person does, in Chromium: opens pages, follows the sidebar, searches, and switches to dark.
 * @throws {Error} a step does not do what it should, a script fails, or a page asks another site for something
 */
export async function browse(site: string): Promise<void> {
  await using closing = new AsyncDisposableStack();
  const { server, url } = await serveSite(site, 0);
  closing.defer(() => void server.close());
  const browser = await startBrowser();
  closing.defer(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1_400, height: 900 }, colorScheme: "light" });
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) faults.push(`asked for ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) faults.push(`${response.status()} for ${response.url()}`);
  });
  await page.goto(`${url}/`);
  await page.getByRole("heading", { level: 1, name: "Mainspring" }).waitFor();
  await followSidebar(page);
  await showPictures(page, url);
  await search(page);
  await switchToDark(page);
  assert.deepEqual(faults, []);
}

async function followSidebar(page: Page): Promise<void> {
  const sidebar = page.locator(".VPSidebar");
  await sidebar.getByRole("heading", { name: "Runbooks", exact: true }).click();
  await sidebar.getByRole("link", { name: "The store", exact: true }).click();
  await page.getByRole("heading", { level: 2, name: "MainspringStoreSlow" }).waitFor();
  await page.locator(".vp-doc").getByRole("link", { name: "MainspringStoreSlow", exact: true }).first().click();
  await until(async () => page.url().endsWith("/docs/runbooks/store.html#mainspringstoreslow"));
}

async function showPictures(page: Page, url: string): Promise<void> {
  for (const path of ["docs/guides/console.html", "docs/performance.html"]) {
    await page.goto(`${url}/${path}`);
    const pictures = page.locator(".vp-doc img");
    assert.ok((await pictures.count()) >= 3, path);
    const unloaded = "[...document.querySelectorAll('.vp-doc img')].filter((image) => image.naturalWidth === 0).length";
    await until(async () => (await page.evaluate(unloaded)) === 0);
  }
}

async function search(page: Page): Promise<void> {
  await page.locator(".DocSearch-Button").click();
  await page.locator("#localsearch-input").fill("MainspringIngestLost");
  await page.locator(".VPLocalSearchBox .result").first().click();
  await page.getByRole("heading", { level: 2, name: "MainspringIngestLost" }).waitFor();
}

async function switchToDark(page: Page): Promise<void> {
  const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
  const light = await background();
  await page.locator(".VPSwitchAppearance:visible").first().click();
  await until(async () => (await background()) !== light);
  assert.equal(await page.evaluate("document.documentElement.classList.contains('dark')"), true);
}
