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
await window.close();
await browser.close();
await scene.stop();
