import { writeFileSync } from "node:fs";
import { refuse, valuesOf } from "../command-line.ts";
import { OUTAGE_MS } from "../drill/actions.ts";
import { DRILL_RATE, type DrillOptions, drillRun } from "../drill/drill-run.ts";
import { flightRun } from "../drill/flight-run.ts";
import type { ChaosBus, ChaosProfile } from "../environment/cluster.ts";
import { formatReport } from "../format-report.ts";
import type { Report, Telling } from "../play.ts";
import { untilAllIsSeen } from "../sightings.ts";
import { chaosRun } from "./chaos-run.ts";
import { keyRun } from "./key-run.ts";

const USAGE = `Usage: npm run chaos -- [options] [--seed N] [--keep] [--json FILE]
  a campaign of faults:    [--minutes N] [--profile mesh|a|b] [--leases store|etcd] [--bus mesh|kafka|kafka-strict] [--ingest direct|fallback|kafka]
  one kind of fault:       [--kills N] [--stops N] [--restarts N] [--outages N] [--blackouts N] [--failovers N] [--lossy-failovers N] [--rate N] [--outage-sec N]
  kills amid assignments:  --flights KILLS
  keys and certificates:   [--revocations] [--certificates] [--minutes N]`;
const values = valuesOf(USAGE, {
  minutes: { type: "string", default: "3" },
  kills: { type: "string", default: "0" },
  stops: { type: "string", default: "0" },
  restarts: { type: "string", default: "0" },
  outages: { type: "string", default: "0" },
  blackouts: { type: "string", default: "0" },
  failovers: { type: "string", default: "0" },
  "lossy-failovers": { type: "string", default: "0" },
  "outage-sec": { type: "string", default: String(OUTAGE_MS / 1_000) },
  rate: { type: "string", default: String(DRILL_RATE) },
  profile: { type: "string", default: "mesh" },
  leases: { type: "string" },
  bus: { type: "string" },
  ingest: { type: "string" },
  flights: { type: "string", default: "0" },
  json: { type: "string" },
  seed: { type: "string", default: "1" },
  revocations: { type: "boolean", default: false },
  certificates: { type: "boolean", default: false },
  keep: { type: "boolean", default: false },
});
const [minutes = 0, seed = 0, rate = 0, flights = 0, outageSec = 0] = [
  ...[values.minutes, values.seed, values.rate, values.flights, values["outage-sec"]],
].map(Number);
const times: DrillOptions["times"] = {
  KILL: Number(values.kills),
  STOP: Number(values.stops),
  RESTART: Number(values.restarts),
  OUTAGE: Number(values.outages),
  BLACKOUT: Number(values.blackouts),
  FAILOVER: Number(values.failovers),
  LOSSY_FAILOVER: Number(values["lossy-failovers"]),
};
/** Defaults of a profile. */
const PROFILES: Readonly<
  Record<string, { leases: string; bus: string; ingest: string; profile: ChaosProfile | null }>
> = {
  mesh: { leases: "store", bus: "mesh", ingest: "direct", profile: null },
  a: { leases: "store", bus: "kafka", ingest: "kafka", profile: "a" },
  b: { leases: "etcd", bus: "kafka", ingest: "kafka", profile: "b" },
};
const defaults = PROFILES[values.profile];
const leases = (["store", "etcd"] as const).find((service) => service === (values.leases ?? defaults?.leases));
const BUSES: Readonly<Record<string, ChaosBus>> = { mesh: "MESH", kafka: "KAFKA", "kafka-strict": "KAFKA_STRICT" };
const bus = BUSES[values.bus ?? defaults?.bus ?? ""];
const ingest = (["direct", "fallback", "kafka"] as const).find((mode) => mode === (values.ingest ?? defaults?.ingest));
const counts = Object.values(times);
if (
  defaults === undefined ||
  leases === undefined ||
  bus === undefined ||
  ingest === undefined ||
  (defaults.profile !== null && bus === "MESH") ||
  !(minutes >= 0) ||
  !(rate > 0) ||
  !(outageSec > 0) ||
  ![seed, flights, ...counts].every((count) => Number.isInteger(count) && count >= 0)
)
  refuse(USAGE);
const { profile } = defaults;
// No process or folder is left behind, however the run ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const isDrill = counts.some((count) => count > 0);
const { revocations, certificates } = values;
const isKeyRun = revocations || certificates;
const report = isDrill || isKeyRun || flights > 0 ? await run(seed) : await untilAllIsSeen(seed, run);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
// The explicit exit keeps connections that a proxy may still hold from delaying the answer.
process.exit(report.violations.length > 0 ? 1 : 0);

async function run(seed: number): Promise<Report> {
  const telling = { seed, keeps: values.keep, say: (message: string) => console.log(message) };
  const played = await playOne(telling);
  console.log(formatReport(played));
  return played;
}

function playOne(telling: Telling): Promise<Report> {
  if (isKeyRun) return keyRun({ forMs: minutes * 60_000, revocations, certificates, ...telling });
  if (flights > 0) return flightRun({ kills: flights, demandsGoals: true, ...telling });
  if (isDrill) return drillRun({ times, rate, outageMs: outageSec * 1_000, ...telling });
  return chaosRun({
    forMs: minutes * 60_000,
    leases: leases ?? "store",
    bus: bus ?? "MESH",
    ingest: ingest ?? "direct",
    profile,
    ...telling,
  });
}
