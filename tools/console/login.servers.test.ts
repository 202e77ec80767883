import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client } from "@mainspring/sdk";
import type { RunningNode } from "@mainspring/server";
import type { Browser } from "playwright-core";
import { ConsoleWindow, startBrowser } from "./browser.ts";
import { buildConsole } from "./build.ts";
import { ReverseProxy } from "./reverse-proxy.ts";
import { startServer } from "./scene.ts";

const KEY = "the-key-of-the-operator";

/** The console in a real browser, on a real server that asks for keys, behind a proxy with a prefix. */
describe("the login of the console", () => {
  let server: { node: RunningNode; stop(): Promise<void> };
  let proxy: ReverseProxy;
  let browser: Browser;
  let client: Client;
  let window: ConsoleWindow;
  before(async () => {
    buildConsole();
    server = await startServer(KEY);
    client = new Client({ url: server.node.httpUrl, apiKey: KEY });
    proxy = await ReverseProxy.start([server.node.httpUrl], "/ops");
    browser = await startBrowser();
    window = await ConsoleWindow.open(browser, proxy.url);
  });
  after(async () => {
    await window?.close();
    await browser?.close();
    await proxy?.stop();
    await server?.stop();
  });

  const logIn = async (key: string) => {
    await window.page.getByLabel("API key").fill(key);
    await window.press("Log in");
  };

  it("asks for a key, says why one is refused, and shows the page of the address afterwards", async () => {
    await window.show("pools");
    await window.check();
    await logIn("not-the-key");
    await window.sees("The API key is missing or wrong (401)");
    await logIn(KEY);
    await window.page.getByRole("heading", { name: "Pools" }).waitFor();
    assert.equal(window.page.url(), `${proxy.url}/console/#/pools`);
    window.checkFaults();
  });

  it("keeps the key out of the address, of scripts, and of other paths", async () => {
    const [cookie, ...others] = await window.context.cookies();
    assert.deepEqual(others, []);
    assert.ok(cookie !== undefined && !cookie.value.includes(KEY));
    const { httpOnly, sameSite, path } = cookie;
    assert.deepEqual({ httpOnly, sameSite, path }, { httpOnly: true, sameSite: "Strict", path: "/ops/v1" });
    const kept = await window.page.evaluate("document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })");
    assert.ok(!String(kept).includes(KEY));
    assert.ok(!window.page.url().includes(KEY));
  });

  it("lasts over a reload, changes things, and ends by a click", async () => {
    await window.page.reload();
    await window.page.getByRole("heading", { name: "Pools" }).waitFor();
    await client.pools.set("default", { paused: false });
    await window.confirm("Pause");
    await window.page.locator("main .state-paused").waitFor();
    await window.page.getByText("Settings").click();
    await window.sees("OPERATOR of tenant default");
    await window.press("Log out");
    await window.page.getByLabel("API key").waitFor();
    assert.deepEqual(await window.context.cookies(), []);
  });

  it("shows a key what it may do alone, and ends when the key is revoked", async () => {
    const { key, keyId } = await client.keys.create({ kind: "READER", name: "console" });
    await window.show("cluster");
    await logIn(key);
    await window.sees("This page needs a key of an operator");
    await window.page.getByRole("link", { name: "Pools" }).click();
    await window.sees("default");
    assert.equal(await window.page.getByRole("button", { name: "Resume" }).count(), 0);
    await client.keys.revoke(keyId);
    await window.page.getByLabel("API key").waitFor();
  });
});
