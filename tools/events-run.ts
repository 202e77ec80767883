import { eventsRun } from "../packages/cli/test/testing/events-run.ts";
import { refuse, valuesOf } from "../packages/crash/src/command-line.ts";

/**
 * `npm run events -- --jobs 10000 --dead 500 --kills 5 --down-sec 600 --rate 500`: compares the events of the API, of Kafka
 * and of ClickHouse after servers and the broker were killed.
 */
const USAGE = "Usage: npm run events -- [--jobs N] [--dead N] [--kills N] [--down-sec N] [--rate N]";
const values = valuesOf(USAGE, {
  jobs: { type: "string", default: "10000" },
  dead: { type: "string", default: "500" },
  kills: { type: "string", default: "5" },
  "down-sec": { type: "string", default: "120" },
  rate: { type: "string", default: "0" },
});
const numbers = [values.jobs, values.dead, values.kills, values["down-sec"], values.rate].map(Number);
const [jobs = 0, dead = 0, kills = 0, downSec = 0, rate = 0] = numbers;
if (!numbers.every((number) => Number.isInteger(number) && number >= 0) || dead > jobs)
  refuse(USAGE, "events: all options are whole numbers from 0 on, and --dead is at most --jobs");
// No process or folder is left behind, however the run ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const { close } = await eventsRun({ jobs, dead, kills, downSec, rate, say: (text) => console.log(text) });
await close();
console.log("Kafka and ClickHouse have the events of the API, and Kafka has them in the order of each shard");
