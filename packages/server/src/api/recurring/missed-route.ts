import { MissedBody } from "@mainspring/contract";
import type { EpochMs } from "../../domain/ids.ts";
import type { About } from "../cluster/node-routes.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant, formatInstantOrNull } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { MissedJob } from "./missed-instants.ts";

/** Route GET /v1/missed-jobs */
export function missedRoute(app: HttpApp, about: Pick<About, "missed">): void {
  const schema = {
    operationId: "listMissedJobs",
    tags: ["jobs"],
    summary: "Recurring jobs with planned instants of the last day that are MISSED in their ledgers",
    response: { 200: answer(MissedBody, "None, as there should never be any"), ...problems() },
  };
  app.get("/v1/missed-jobs", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const tenant = tenantOfCaller(request);
    const { jobs, lookedUntil } = about.missed?.() ?? { jobs: [], lookedUntil: null };
    return {
      items: jobs.filter((job) => job.tenant === tenant).map(itemBody),
      lookedUntil: formatInstantOrNull(lookedUntil),
    };
  });
}

function itemBody({ jobId, name, instants }: MissedJob) {
  const [first, last] = [instants[0] as EpochMs, instants.at(-1) as EpochMs];
  return { jobId, name, missed: instants.length, firstAt: formatInstant(first), lastAt: formatInstant(last) };
}
