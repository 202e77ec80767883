import process from "node:process";
import { tryChart } from "./deploy/chart.ts";
import { tryImage } from "./deploy/image.ts";
import { trySystemdPage } from "./deploy/systemd-page.ts";

/**
 * `npm run deploy -- systemd` follows docs/deploy/systemd.md, `npm run deploy -- image` runs the instructions of the Dockerfile and then a server
 * of the image. Both happen in namespaces, on an overlay of this machine's files. They need root and the registry of npm, and take some minutes.
 * `npm run deploy -- chart` renders the Helm chart and checks its objects.
 */

const TRIALS = { systemd: trySystemdPage, image: tryImage, chart: tryChart };

const [name = "", ...others] = process.argv.slice(2);
if (!Object.hasOwn(TRIALS, name) || others.length > 0) {
  console.error("deploy: say what to try, as: npm run deploy -- systemd, image or chart");
  process.exit(2);
}
await TRIALS[name as keyof typeof TRIALS]();
console.log("\ndeploy: all is as the page says");
