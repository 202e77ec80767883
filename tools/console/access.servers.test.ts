import assert from "node:assert/strict";
import { createHash, generateKeyPairSync } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { anchorHash, FIRST_PREV } from "@mainspring/contract/audit-log";
import { Client } from "@mainspring/sdk";
import type { RunningNode } from "@mainspring/server";
import type { Browser } from "playwright-core";
import { ConsoleWindow, startBrowser } from "./browser.ts";
import { buildConsole } from "./build.ts";
import { startServer } from "./scene.ts";

/** An anchor that nobody has signed. */
const ANCHOR = unsigned({ number: 1, at: 0, heads: [], floors: [], prev: FIRST_PREV });
const KEY = "the-key-of-the-operator";

/** The anchor as an answer of the API has it. */
function unsigned(anchor: Parameters<typeof anchorHash>[0]) {
  const hash = anchorHash(anchor, (text) => createHash("sha256").update(text).digest("hex"));
  return { ...anchor, at: new Date(anchor.at).toISOString(), hash, signature: null };
}

/** The pages of keys, tenants and the audit log in a real browser, on a real server that asks for keys. */
describe("the console's pages of keys, tenants and the audit log", () => {
  let server: { node: RunningNode; stop(): Promise<void> };
  let browser: Browser;
  let client: Client;
  let window: ConsoleWindow;
  before(async () => {
    buildConsole();
    [server, browser] = await Promise.all([startServer(KEY), startBrowser()]);
    client = new Client({ url: server.node.httpUrl, apiKey: KEY });
    window = await ConsoleWindow.open(browser, server.node.httpUrl);
    await logIn(window, KEY, "keys");
  });
  after(async () => {
    await window?.close();
    await browser?.close();
    await server?.stop();
  });

  const logIn = async (into: ConsoleWindow, key: string, place: string) => {
    await into.show(place);
    await into.page.getByLabel("API key").fill(key);
    await into.press("Log in");
    await into.page.getByRole("link", { name: "Executions" }).waitFor();
  };
  const rows = (text: string) => window.page.getByRole("row").filter({ hasText: text });
  const shownKey = async () => String(await window.page.locator(".new-key").textContent());
  const sure = (name: string) => window.page.locator("dialog[open]").getByRole("button", { name, exact: true }).click();

  it("create a key, and show it once", async () => {
    await window.sees("There is no API key yet");
    await window.check();
    await window.page.getByText("Create a key").first().click();
    await window.page.getByLabel("Kind").selectOption("TENANT_ADMIN");
    await window.page.getByLabel(/^Name, such as/).fill("the console of Ada");
    await window.page.getByLabel(/^Expires at/).fill("2001-01-01T00:00:00Z");
    await window.press("Create a key");
    await window.sees("must be in the future");
    await window.page.getByLabel(/^Expires at/).fill("");
    await window.press("Create a key");
    await window.sees("The new key of the console of Ada");
    await window.check();
    const key = await shownKey();
    assert.equal((await new Client({ url: server.node.httpUrl, apiKey: key }).me()).kind, "TENANT_ADMIN");
    await window.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await window.press("Copy");
    await window.sees("Copied");
    assert.equal(await window.page.evaluate("navigator.clipboard.readText()"), key);
    await window.press("I have copied it");
    await window.page.reload();
    await rows("the console of Ada").getByText("ACTIVE").waitFor();
    const kept = await window.page.evaluate(
      "document.documentElement.outerHTML + location.href + JSON.stringify({ ...localStorage, ...sessionStorage })",
    );
    assert.ok(!String(kept).includes(key));
  });

  it("rotate and revoke a key", async () => {
    await rows("the console of Ada").getByRole("button", { name: "Rotate" }).click();
    await sure("Rotate");
    const key = await shownKey();
    await window.press("I have copied it");
    await window.counts("main tbody tr", 2);
    const { keyId } = await new Client({ url: server.node.httpUrl, apiKey: key }).me();
    const successor = window.page.getByRole("row").filter({ has: window.page.locator(`[title="${keyId}"]`) });
    await successor.getByRole("button", { name: "Revoke" }).click();
    await sure("Revoke");
    await successor.getByText("REVOKED").waitFor();
    assert.equal(await successor.getByRole("button", { name: "Revoke" }).count(), 0);
    await window.check(["light"]);
  });

  it("create a tenant, change its quotas, show its use of them, and suspend it", async () => {
    await window.show("tenants");
    await rows("default").getByText("ACTIVE").waitFor();
    await window.page.getByText("Create a tenant").first().click();
    await window.page.getByLabel(/^Name: a-z/).fill("acme");
    await window.press("Create a tenant");
    await rows("acme").getByText("ACTIVE").waitFor();
    await window.check(["light"]);
    await rows("acme").getByRole("link").click();
    await rows("Recurring jobs").getByText("no limit").waitFor();
    await window.page.getByText("Change quotas").first().click();
    await window.page.getByLabel("Executions that wait").fill("5");
    await window.press("Change quotas");
    await rows("Executions that wait").getByText("5", { exact: true }).waitFor();
    assert.equal((await client.tenants.get("acme")).maxWaiting, 5);
    assert.equal((await client.tenants.get("acme")).maxRunning, null);
    await window.check();
    await window.confirm("Suspend");
    await window.page.locator("main .state-suspended").waitFor();
    await window.confirm("Resume");
    await window.page.locator("main .state-active").waitFor();
  });

  it("search the audit log by filters that are part of the address", async () => {
    await window.show("audit");
    await rows("changeTenant").first().waitFor();
    await window.sees("mainspring audit verify");
    await window.check();
    await window.page.getByLabel("Action").fill("rotateApiKey");
    await window.press("Apply");
    await window.page.waitForURL(/action=rotateApiKey/);
    await window.counts("main tbody tr", 1);
    await window.press("Detail");
    await window.page
      .locator(".panel")
      .getByText(/"?hash/)
      .first()
      .waitFor();
    await window.check(["light"]);
    await window.page.getByLabel("Target").fill("nothing");
    await window.press("Apply");
    await window.sees("No record matches");
  });

  it("verify the audit log in the browser, with kept anchors and a key, and say what that does not prove", async () => {
    await window.show("audit");
    await window.page.getByText("Verify in this browser").click();
    await window.press("Verify");
    await window.sees(/^Sound: [\d,]+ records in \d+ chains?, \d+ anchors/);
    await window.sees("No kept anchor was compared");
    await window.check();
    const hash = "0".repeat(64);
    const kept = { number: 999, at: 0, heads: [], floors: [], prev: hash, hash, signature: null };
    await window.page.getByLabel(/^Anchors that you kept/).fill(JSON.stringify({ auditAnchor: kept }));
    await window.press("Verify");
    await window.sees("The log is not sound: ANCHOR");
    await window.page.getByLabel(/^Anchors that you kept/).fill("a line of something else");
    await window.press("Verify");
    await window.sees("These lines have no anchors");
    await window.page.getByLabel(/^Anchors that you kept/).fill("");
    await window.page.getByLabel(/^Public key/).fill("-----BEGIN PRIVATE KEY-----");
    await window.press("Verify");
    await window.sees("never paste a private one");
  });

  it("find an edited record and a wrong signature in the audit log", async () => {
    const { publicKey } = generateKeyPairSync("ed25519");
    await window.page.route("**/v1/audit/records?*", async (route) => {
      const answer = await route.fetch();
      const page = await answer.json();
      page.items[1].target = "another";
      await route.fulfill({ response: answer, json: page });
    });
    await window.page.getByLabel(/^Public key/).fill("");
    await window.press("Verify");
    await window.sees("The log is not sound: EDITED");
    await window.sees(/^record 2 of the chain/);
    await window.page.unroute("**/v1/audit/records?*");
    await window.page.route("**/v1/audit/anchors?*", (route) =>
      route.fulfill({ json: { items: [ANCHOR], nextCursor: null } }),
    );
    await window.page.getByLabel(/^Public key/).fill(String(publicKey.export({ type: "spki", format: "pem" })));
    await window.press("Verify");
    await window.sees("The log is not sound: UNSIGNED");
    await window.page.unroute("**/v1/audit/anchors?*");
    await window.check(["light"]);
  });

  it("give a database role to a tenant, take it away, and delete the tenant whose name is typed", async () => {
    await client.tenants.create({ name: "leaver" });
    await window.show("tenants/leaver");
    await window.sees("No role and no topic belongs to the tenant.");
    await window.page.getByText("Give a role or a topic to the tenant").first().click();
    await window.page.getByLabel("Name").fill("billing_app");
    await window.press("Give a role or a topic to the tenant");
    await rows("billing_app").getByText("database role").waitFor();
    assert.deepEqual((await client.tenants.get("leaver")).sources, [{ kind: "ROLE", name: "billing_app" }]);
    await window.check();
    await window.confirm("Take away");
    await window.sees("No role and no topic belongs to the tenant.");
    await window.press("Delete the tenant");
    const dialog = window.page.locator("dialog[open]");
    assert.ok(await dialog.getByRole("button", { name: "Delete the tenant" }).isDisabled());
    await dialog.getByLabel("Type leaver to confirm").fill("leaver");
    await window.check(["light"]);
    await dialog.getByRole("button", { name: "Delete the tenant" }).click();
    await window.sees(/The tenant is being deleted|There is nothing here/);
    await window.show("tenants/default");
    await rows("Recurring jobs").first().waitFor();
    assert.equal(await window.page.getByRole("button", { name: "Delete the tenant" }).count(), 0);
  });

  it("show a key what it may do alone", async () => {
    const tenantAdmin = await client.keys.create({ kind: "TENANT_ADMIN", name: "of a tenant" });
    const reader = await client.keys.create({ kind: "READER", name: "looks around" });
    const phone = await ConsoleWindow.open(browser, server.node.httpUrl, { width: 360, height: 740 });
    const link = (name: string) => phone.page.getByRole("link", { name, exact: true }).count();
    await logIn(phone, tenantAdmin.key, "keys");
    await phone.page.getByText("of a tenant").first().waitFor();
    assert.deepEqual([await link("API keys"), await link("Tenants"), await link("Audit log")], [1, 0, 1]);
    const kinds = await phone.page.locator("select[name=kind] option").allTextContents();
    assert.deepEqual([kinds.includes("READER"), kinds.includes("OPERATOR")], [true, false]);
    await phone.check(["light"]);
    await phone.show("audit");
    await phone.page.locator("main table").first().waitFor();
    await phone.check(["light"]);
    await phone.page.getByText("Settings").click();
    await phone.press("Log out");
    await logIn(phone, reader.key, "jobs");
    assert.deepEqual([await link("API keys"), await link("Tenants"), await link("Audit log")], [0, 0, 0]);
    await phone.close();
  });
});
