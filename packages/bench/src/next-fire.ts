import { firstFire, nextFire, type Schedule, usePackagedZones } from "@mainspring/server/testing";

interface NextFireOptions {
  /** Number of runs; null: one. */
  runs: number | null;
}

const STEPS = 20_000;
const AFTER = Date.UTC(2026, 0, 1);
const UNTIL = Date.UTC(2046, 0, 1);

const CASES = [
  ["30 2 * * *", "America/New_York"],
  ["*/5 * * * *", "Europe/Berlin"],
  ["0 9 * * MON-FRI", "Asia/Tokyo"],
  ["0 0 LW * *", "Australia/Lord_Howe"],
  ["0 0 29 2 *", "UTC"],
] as const;

/** Measures the time to compute when a job fires next, over twenty years of fires, and for the first fire in a zone. */
export async function nextFireTimes({ runs }: NextFireOptions): Promise<void> {
  usePackagedZones();
  for (let run = 1; run <= (runs ?? 1); run++) {
    for (const [cron, timezone] of CASES) report(`${cron} in ${timezone}`, steps(scheduleOf(cron, timezone)));
  }
  const zones = Intl.supportedValuesOf("timeZone");
  const first = zones.map((zone) => timed(() => firstFire(scheduleOf("30 2 * * *", zone), AFTER)).tookUs);
  report(`first fire in each of ${zones.length} zones`, first);
}

function steps(schedule: Schedule): number[] {
  const taken: number[] = [];
  for (let after = AFTER; taken.length < STEPS; ) {
    const { value, tookUs } = timed(() => nextFire(schedule, after, 0));
    taken.push(tookUs);
    after = value === null || value > UNTIL ? AFTER : value;
  }
  return taken;
}

function scheduleOf(cron: string, timezone: string): Schedule {
  const times = { type: "CRON", cron, timezone, dst: { gap: "SHIFT", fold: "FIRST" } } as const;
  return { times, startAt: null, endAt: null, maxFires: null, shiftMs: 0 };
}

function timed<T>(work: () => T): { value: T; tookUs: number } {
  const begun = process.hrtime.bigint();
  const value = work();
  return { value, tookUs: Number(process.hrtime.bigint() - begun) / 1_000 };
}

function report(what: string, taken: number[]): void {
  taken.sort((a, b) => a - b);
  const [median, late] = [0.5, 0.99].map((part) => (taken[Math.floor(taken.length * part)] ?? 0).toFixed(1));
  console.log(`${what}: median ${median} us, p99 ${late} us`);
}
