import assert from "node:assert/strict";
import { until } from "@mainspring/server/testing";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium as driver, type Page } from "playwright-core";
import { CHROMIUM_SWITCHES, chromium } from "../services/chromium.ts";

/** Time limit of each wait, in milliseconds. A limit only finds what hangs. */
const LIMIT_MS = 30_000;

/** Starts a Chromium with an empty profile. */
export async function startBrowser(): Promise<Browser> {
  return await driver.launch({ executablePath: await chromium(), args: CHROMIUM_SWITCHES });
}

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** A window of the console, which remembers what went wrong in it. */
export class ConsoleWindow {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly #url: string;
  readonly #faults: string[] = [];

  private constructor(context: BrowserContext, page: Page, url: string) {
    this.context = context;
    this.page = page;
    this.#url = url;
    page.setDefaultTimeout(LIMIT_MS);
    page.on("pageerror", (error) => this.#faults.push(`error: ${error.stack ?? error.message}`));
    page.on("console", (message) => {
      // The browser reports each answer of an error, such as that to a wrong key, in this way.
      if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
        this.#faults.push(message.text());
    });
  }

  /** @param url of the server, with the prefix of a proxy if there is one */
  static async open(browser: Browser, url: string, size = { width: 1_200, height: 900 }): Promise<ConsoleWindow> {
    const context = await browser.newContext({ viewport: size, locale: "en-US", timezoneId: "UTC" });
    return new ConsoleWindow(context, await context.newPage(), url);
  }

  /** Shows a page. @param place part of the address behind `#/` */
  async show(place: string): Promise<void> {
    await this.page.goto(`${this.#url}/console/#/${place}`);
    await this.page.locator("h1").first().waitFor();
  }

  /** Waits for a text. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }

  /** Waits until so many elements are in the document. */
  async counts(selector: string, count: number): Promise<void> {
    await until(async () => (await this.page.locator(selector).count()) === count);
  }

  async press(name: string | RegExp): Promise<void> {
    await this.page.getByRole("button", { name, exact: true }).first().click();
  }

  /** Presses a button and confirms its question. */
  async confirm(name: string): Promise<void> {
    await this.press(name);
    await this.page.locator("dialog[open]").getByRole("button", { name, exact: true }).click();
  }

  /** Checks that axe finds nothing in these schemes of colours, that nothing is wider than the window, and that nothing went wrong. */
  async check(schemes: readonly ("light" | "dark")[] = ["light", "dark"]): Promise<void> {
    const found: string[] = [];
    for (const colorScheme of schemes) {
      await this.page.emulateMedia({ colorScheme });
      found.push(...(await this.#axe()).map((fault) => `${colorScheme}: ${fault}`));
    }
    await this.page.emulateMedia({ colorScheme: "light" });
    assert.deepEqual(found, [], this.page.url());
    const overhang = await this.page.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert.ok(Number(overhang) <= 0, `${this.page.url()} is ${overhang} pixels wider than the window`);
    this.checkFaults();
  }

  checkFaults(): void {
    assert.deepEqual(this.#faults.splice(0), []);
  }

  async #axe(): Promise<string[]> {
    await this.page.evaluate(axe.source);
    const { violations } = (await this.page.evaluate("axe.run()")) as { violations: Violation[] };
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}
