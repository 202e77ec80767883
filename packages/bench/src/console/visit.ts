import { type Browser, type CDPSession, chromium as driver, type Page } from "playwright-core";
import { CHROMIUM_SWITCHES, chromium } from "../../../../tools/services/chromium.ts";
import { CONSOLE_PAGES, type ConsolePage } from "./console-measured.ts";
import type { Stretch } from "./interactive.ts";

/** Headers of a connection, which belong to the client that opens it. */
const OF_CONNECTION = /^(host|connection)$/i;
const WINDOW = { width: 1_400, height: 900 };

/** Marks of the page about itself, which it takes from its first script on. */
const WATCH = `
  globalThis.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      globalThis.longTasks.push({ fromMs: startTime, untilMs: startTime + duration });
  }).observe({ type: "longtask", buffered: true });
  globalThis.rowsSeen = 0;
  new MutationObserver(() => {
    globalThis.rowsSeen = Math.max(globalThis.rowsSeen, document.querySelectorAll("tbody tr").length);
  }).observe(document, { childList: true, subtree: true });
  globalThis.contentShown = new Promise((done) => {
    new MutationObserver((_changes, observer) => {
      if (document.querySelector("main tbody tr, main .chart canvas") === null) return;
      observer.disconnect();
      done();
    }).observe(document, { childList: true, subtree: true });
  });
`;

interface Seen {
  tasks: Stretch[];
  rows: number;
}

/** A request as the browser sent it. Times are in milliseconds since the start of the visit. */
export interface SentRequest {
  method: string;
  /** Path and query. */
  path: string;
  headers: Record<string, string>;
  kind: string;
  fromMs: number;
  /** Infinity: it has not ended. */
  untilMs: number;
  status: number;
  /** Size of the answer as sent, with its headers. */
  bytes: number;
}

export async function startChromium(): Promise<Browser> {
  return await driver.launch({ executablePath: await chromium(), args: CHROMIUM_SWITCHES });
}

/** A window of the console with an empty cache, logged in, with a record of what it sends. */
export class Visit implements AsyncDisposable {
  readonly page: Page;
  readonly cdp: CDPSession;
  readonly #requests = new Map<string, SentRequest>();
  /** Headers as they were sent, with the session. They may be known before or after the request. */
  readonly #headers = new Map<string, Record<string, string>>();
  readonly #url: string;
  /** Start of the visit on the browser's monotonic clock, in seconds; null: it has sent nothing. */
  #beganSec: number | null = null;

  private constructor(page: Page, cdp: CDPSession, url: string) {
    this.page = page;
    this.cdp = cdp;
    this.#url = url;
  }

  /** @param url address of the server. @param key API key */
  static async open(browser: Browser, url: string, key: string): Promise<Visit> {
    const context = await browser.newContext({ viewport: WINDOW, locale: "en-US", timezoneId: "UTC" });
    const answer = await context.request.post(`${url}/v1/session`, { data: { key }, headers: { origin: url } });
    if (!answer.ok()) throw new Error(`the login answered ${answer.status()}: ${await answer.text()}`);
    const page = await context.newPage();
    await page.addInitScript(WATCH);
    const visit = new Visit(page, await context.newCDPSession(page), url);
    await visit.#record();
    return visit;
  }

  /** Navigates to a page of the console. */
  async show(page: ConsolePage): Promise<void> {
    await this.page.goto(`${this.#url}/console/#/${CONSOLE_PAGES[page].place}`, { waitUntil: "commit" });
  }

  /** Waits until the document has shown figures: rows of a list, or charts. */
  async hasContent(): Promise<void> {
    await this.evaluate("contentShown");
  }

  /** The value of an expression, once its promise is fulfilled. The driver's own scripts, which take tens of milliseconds, stay out of the page. */
  async evaluate(expression: string): Promise<unknown> {
    const asked = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.cdp.send("Runtime.evaluate", asked);
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${exceptionDetails.text}`);
    return result.value;
  }

  /** Tasks of more than 50 ms of the main thread since the last call, and the largest number of rows in the document. */
  async seen(): Promise<Seen> {
    const text =
      "(() => { const seen = { tasks: longTasks.splice(0), rows: rowsSeen }; rowsSeen = document.querySelectorAll('tbody tr').length; return seen; })()";
    return (await this.evaluate(text)) as Seen;
  }

  /** Requests so far, in the order of their times. */
  get requests(): SentRequest[] {
    return [...this.#requests].map(([id, request]) => {
      const all = Object.entries(this.#headers.get(id) ?? request.headers);
      return { ...request, headers: Object.fromEntries(all.filter(([name]) => !OF_CONNECTION.test(name))) };
    });
  }

  async #record(): Promise<void> {
    const cdp = this.cdp;
    const requests = this.#requests;
    await cdp.send("Network.enable");
    cdp.on("Network.requestWillBeSent", ({ requestId, request, timestamp, type = "Other" }) => {
      this.#beganSec ??= timestamp;
      const { pathname, search } = new URL(request.url);
      const fromMs = this.#msOf(timestamp);
      const sent = { method: request.method, path: pathname + search, headers: request.headers, kind: type };
      requests.set(requestId, { ...sent, fromMs, untilMs: Number.POSITIVE_INFINITY, status: 0, bytes: 0 });
    });
    cdp.on("Network.requestWillBeSentExtraInfo", ({ requestId, headers }) => this.#headers.set(requestId, headers));
    const change = (requestId: string, fields: Partial<SentRequest>) => {
      const sent = requests.get(requestId);
      if (sent !== undefined) Object.assign(sent, fields);
    };
    cdp.on("Network.responseReceived", ({ requestId, response: { status } }) => change(requestId, { status }));
    cdp.on("Network.loadingFinished", ({ requestId, timestamp, encodedDataLength }) =>
      change(requestId, { untilMs: this.#msOf(timestamp), bytes: encodedDataLength }),
    );
    cdp.on("Network.loadingFailed", ({ requestId, timestamp }) =>
      change(requestId, { untilMs: this.#msOf(timestamp) }),
    );
  }

  #msOf(timestampSec: number): number {
    return (timestampSec - (this.#beganSec ?? timestampSec)) * 1_000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
