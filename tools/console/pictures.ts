import { join, resolve } from "node:path";
import { ConsoleWindow, startBrowser } from "./browser.ts";
import { buildConsole } from "./build.ts";
import { startScene } from "./scene.ts";

/** Makes the pictures of docs/guides/console.md: `npm run console:pictures`. */

const FOLDER = resolve(import.meta.dirname, "../../docs/guides/console");
/** Time that the charts of the overview need to show a line, in milliseconds. */
const CHARTS_MS = 12_000;

buildConsole();
const scene = await startScene();
const browser = await startBrowser();
const window = await ConsoleWindow.open(browser, scene.node.httpUrl, { width: 1_000, height: 760 });
const shoot = (name: string) => window.page.screenshot({ path: join(FOLDER, `${name}.png`), animations: "disabled" });

await window.show("");
for (let count = 0; count < 200; count++)
  await scene.client.submit({ target: { handler: "greet" }, payload: `guest ${count}` });
await window.page.waitForTimeout(CHARTS_MS);
await shoot("overview");
await window.show(`executions/${scene.ids.dead}`);
await window.sees("the bank refused card-1");
await shoot("execution");
await window.show("dead-letters");
await window.sees("TerminalError: this will never work");
await shoot("dead-letters");
const { workflowId } = await scene.client.workflows.submit({
  name: "nightly-import",
  nodes: [
    ...["customers", "orders", "prices"].map((name) => ({ name, target: { handler: "greet" }, payload: name })),
    { name: "join", target: { handler: "greet" }, payload: "join", dependsOn: ["customers", "orders", "prices"] },
    { name: "check", target: { handler: "refuse" }, dependsOn: ["join"] },
    { name: "report", target: { handler: "greet" }, payload: "report", dependsOn: ["join", "check"] },
  ],
});
await scene.client.workflows.waitFor(workflowId);
await window.show(`workflows/${workflowId}`);
await window.counts(".graph rect", 6);
await window.page.locator(".graph").evaluate((graph) => graph.scrollIntoView({ block: "center" }));
await shoot("workflow");
const { jobId } = await scene.client.submit({
  name: "at-night",
  target: { handler: "greet" },
  schedule: "30 2 * * *",
  timezone: "Europe/Berlin",
});
await window.show(`jobs/${jobId}?month=${new Date().getUTCFullYear() + 1}-03`);
await window.page.locator(".calendar .mark").first().scrollIntoViewIfNeeded();
await shoot("calendar");
await window.close();
await browser.close();
await scene.stop();
