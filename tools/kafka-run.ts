import { parseArgs } from "node:util";
import { kafkaRun } from "../packages/cli/test/testing/kafka-run.ts";

/** `npm run kafka -- --jobs 10000 --dead 500 --kills 5 --down-sec 120`: compares the events in Kafka with those of the API. */
const USAGE = "Usage: npm run kafka -- [--jobs N] [--dead N] [--kills N] [--down-sec N]";
const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "10000" },
    dead: { type: "string", default: "500" },
    kills: { type: "string", default: "5" },
    "down-sec": { type: "string", default: "120" },
  },
});
const [jobs = 0, dead = 0, kills = 0, downSec = 0] = [values.jobs, values.dead, values.kills, values["down-sec"]].map(
  Number,
);
if (![jobs, dead, kills, downSec].every((number) => Number.isInteger(number) && number >= 0) || dead > jobs) {
  console.error(USAGE);
  process.exit(2);
}
// No process or folder is left behind, however the run ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const { close } = await kafkaRun({ jobs, dead, kills, downSec, say: (text) => console.log(text) });
await close();
console.log("Kafka has the events of the API, in the order of each shard");
