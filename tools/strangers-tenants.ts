import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { judge } from "./strangers/site.ts";
import { CHECKS_OF_ACCESS } from "./strangers/tenants/checks-of-access.ts";
import { CHECKS_OF_FAIRNESS } from "./strangers/tenants/checks-of-fairness.ts";
import { CHECKS_OF_KEYS } from "./strangers/tenants/checks-of-keys.ts";
import { CHECKS_OF_QUOTAS } from "./strangers/tenants/checks-of-quotas.ts";
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
const CHECKS = [...CHECKS_OF_ACCESS, ...CHECKS_OF_FAIRNESS, ...CHECKS_OF_KEYS, ...CHECKS_OF_QUOTAS].filter(
  ({ name }) => wanted?.includes(name.slice(0, name.indexOf("."))) ?? true,
);

const folder = await mkdtemp(join(tmpdir(), "mainspring-strangers-"));
const site = await TenantsSite.open(folder, Number(jobs), times === "on");
try {
  await judge(CHECKS, site);
} finally {
  await site.cluster.close();
  await rm(folder, { recursive: true, force: true });
}
