import process from "node:process";
import { tryChart } from "./deploy/chart.ts";
import { tryImage } from "./deploy/image.ts";
import { trySystemdPage } from "./deploy/systemd-page.ts";
import { tryThree, WAYS, type Way } from "./deploy/three.ts";

/**
 * `npm run deploy -- systemd` follows docs/deploy/systemd.md, `npm run deploy -- image` runs the instructions of the Dockerfile and then a server
 * of the image. Both happen in namespaces, on an overlay of this machine's files. They need root and the registry of npm, and take some minutes.
 * `npm run deploy -- chart` renders the Helm chart and checks its objects. `npm run deploy -- three systemd image chart` judges three nodes that
 * were deployed in these ways.
 */

const TRIALS = { systemd: trySystemdPage, image: tryImage, chart: tryChart };

const [name = "", ...others] = process.argv.slice(2);
const ways = others.filter((other): other is Way => WAYS.some((way) => way === other));
const isThree = name === "three" && ways.length > 0 && ways.length === others.length;
if (!isThree && (!Object.hasOwn(TRIALS, name) || others.length > 0)) {
  console.error(
    "deploy: say what to try, as: npm run deploy -- systemd, image or chart, or three and one or more of these",
  );
  process.exit(2);
}
if (isThree) await tryThree(ways);
else await TRIALS[name as keyof typeof TRIALS]();
console.log("\ndeploy: all is as the page says");
