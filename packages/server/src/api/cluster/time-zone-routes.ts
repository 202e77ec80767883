import { TimeZonesBody, TimeZonesRequest } from "@mainspring/contract";
import type { Store } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { TimeZoneRules } from "../../ports/time-zone-rules.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant } from "../http/instants.ts";

interface TimeZoneDependencies {
  store: Pick<Store, "timeZones">;
  zones: TimeZoneRules;
  lacking?: Lacking | undefined;
}

const tags = ["schedules"];
const path = "/v1/time-zone-data";

/** Routes GET and PUT /v1/time-zone-data */
export function timeZoneRoutes(app: HttpApp, deps: TimeZoneDependencies): void {
  const read = {
    operationId: "getTimeZoneData",
    tags,
    summary: "Which time zone data recurring jobs are planned by, and which there was before",
    response: { 200: answer(TimeZonesBody, "As this node knows it"), ...problems() },
  };
  app.get(path, { schema: read, config: { scope: "jobs:read" } }, () => bodyOf(deps));
  const put = {
    operationId: "putTimeZoneData",
    tags,
    summary: "Have all nodes plan by another version of the time zone data: an older one, or one that this node brings",
    body: TimeZonesRequest,
    response: {
      200: answer(TimeZonesBody, "It comes into force within seconds, at the same moment for all nodes"),
      ...problems("wrong-state", "payload-too-large", "unsupported-media-type"),
    },
  };
  app.put(path, { schema: put, config: { scope: "system:admin" } }, async (request) => {
    const { version } = request.body;
    requireFeature("TIME_ZONE_DATA", deps.lacking);
    await changeTo(deps, version, noteOf(request, version));
    return bodyOf(deps);
  });
}

async function changeTo(deps: TimeZoneDependencies, version: string, note: AuditNote): Promise<void> {
  const { zones } = deps;
  const known = await availableIn(deps);
  if (!known.includes(version)) {
    const message = `${JSON.stringify(version.slice(0, 40))} is not available: give one of ${known.join(", ")}, or name its data with MAINSPRING_TZDATA and restart this node`;
    throw new ProblemError(invalid([{ field: "version", message }]));
  }
  if (zones.changeovers().at(-1)?.version === version) return;
  if ((await zones.changeTo(version, note)) !== null) return;
  throw new ProblemError(
    problem("wrong-state", "another changeover of time zone data came first: look, and try again"),
  );
}

async function availableIn({ store, zones }: TimeZoneDependencies): Promise<string[]> {
  return [...new Set([...(await store.timeZones.versions()), ...zones.offered()])].sort();
}

async function bodyOf(deps: TimeZoneDependencies): Promise<TimeZonesBody> {
  const { version, releasedOn } = deps.zones.inForce();
  const changeovers = deps.zones.changeovers().map(({ version, since }) => {
    return { version, since: since === 0 ? null : formatInstant(since) };
  });
  return { version, releasedOn, changeovers, available: await availableIn(deps) };
}
