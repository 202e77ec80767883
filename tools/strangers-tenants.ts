import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CHECKS_OF_ACCESS } from "./strangers/tenants/checks-of-access.ts";
import { CHECKS_OF_FAIRNESS } from "./strangers/tenants/checks-of-fairness.ts";
import { TenantsSite } from "./strangers/tenants/tenants-site.ts";

/**
 * `npm run strangers:tenants`: checks of tenants, keys, TLS and the audit log that somebody who does not know the program can do, on two
 * nodes. Prints what it saw, and ends with 1 if anything is not as it should be. `--jobs N` makes the backlog of check 3 smaller than a
 * million jobs, and the herd of check 5 with it. `--times off` judges counts and the order alone, for machines that do other work too.
 * `--only N,N` leaves out other checks.
 */

const { jobs, times, only } = parseArgs({
  options: {
    jobs: { type: "string", default: "1000000" },
    times: { type: "string", default: "on" },
    only: { type: "string" },
  },
}).values;
const wanted = only?.split(",");
const CHECKS = [...CHECKS_OF_ACCESS, ...CHECKS_OF_FAIRNESS]
  .filter(({ name }) => wanted?.includes(name.slice(0, name.indexOf("."))) ?? true)
  .toSorted((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));

const folder = await mkdtemp(join(tmpdir(), "mainspring-strangers-"));
const site = await TenantsSite.open(folder, Number(jobs), times === "on");
let wrong = 0;
try {
  for (const { name, run } of CHECKS) {
    console.log(name);
    for (const { what, saw, isRight } of await run(site)) {
      if (!isRight) wrong++;
      console.log(`   ${isRight ? "ok " : "NOT"}  ${what}: ${saw}`);
    }
  }
  console.log(wrong === 0 ? "All is as it should be." : `${wrong} things are NOT as they should be.`);
} finally {
  await site.cluster.close();
  await rm(folder, { recursive: true, force: true });
}
if (wrong > 0) process.exitCode = 1;
