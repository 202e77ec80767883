import { setTimeout as pause } from "node:timers/promises";
import { equal, type Finding } from "../site.ts";
import type { TenantsCheck, TenantsSite } from "./tenants-site.ts";

/** Submits that a tenant may make in a second, of which it may make ten seconds' worth at once. */
const SUBMITS_PER_SEC = 0.5;
const BURST = 10 * SUBMITS_PER_SEC;
const JOB = { target: { handler: "echo" } };

interface Submitted {
  jobId?: string;
  quota?: string;
}

/** A submit over a quota is told when it may be repeated, and repeats of accepted ones are answered meanwhile. */
async function keepsQuotas(site: TenantsSite): Promise<Finding[]> {
  const tenant = await site.tenant("quotas", "CLIENT", { submitsPerSec: SUBMITS_PER_SEC });
  const submit = (key: string) => tenant.ask<Submitted>("POST", "/v1/jobs", JOB, { "idempotency-key": key });
  const beganMs = performance.now();
  const first = await submit("first");
  let taken = 1;
  let refused = await submit("next-1");
  for (; refused.status === 201; refused = await submit(`next-${taken}`)) taken++;
  const refilled = Math.ceil(((performance.now() - beganMs) / 1_000) * SUBMITS_PER_SEC);
  const repeated = await submit("first");
  const waitSec = Number(refused.headers.get("retry-after"));
  await pause(waitSec * 1_000);
  const again = await submit("again");
  return [
    equal("a submit within the quota is taken", first.status, 201),
    equal(`and no more than ${BURST} at once`, taken <= BURST + refilled, true),
    equal("the next one is answered with 429", refused.status, 429),
    equal("which names the quota", refused.body.quota, "submitsPerSec"),
    equal(`and says when to repeat it (${waitSec} s)`, waitSec >= 1 && waitSec <= 1 / SUBMITS_PER_SEC, true),
    equal("a repeat of the first one succeeds meanwhile", repeated.status, 201),
    equal("with the same job", repeated.body.jobId, first.body.jobId),
    equal("a submit after that time succeeds", again.status, 201),
  ];
}

export const CHECKS_OF_QUOTAS: readonly TenantsCheck[] = [
  { name: "7. A submit over a quota is told when to come again", run: keepsQuotas },
];
