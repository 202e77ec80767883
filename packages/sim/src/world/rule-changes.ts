import { packagedZones, type ZoneFilesText } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { SimServer } from "./sim-server.ts";

/**
 * Real rules of other zones, which a release gives to the zones of the recurring jobs: offsets differ by up to two
 * hours, and the clocks change at other moments or not at all. The empty set leaves every zone unchanged.
 */
const OTHER_RULES: readonly Readonly<Record<string, string>>[] = [
  {},
  {
    "America/Cuiaba": "America/Manaus",
    "America/Miquelon": "America/Noronha",
    "America/St_Johns": "America/Argentina/Buenos_Aires",
  },
  {
    "America/Cuiaba": "America/Sao_Paulo",
    "America/Miquelon": "America/Halifax",
    "America/St_Johns": "America/Halifax",
  },
];
/** Releases in order; the second one is the packaged data. */
const RELEASES = ["2026e", "2026f", "2026g", "2026h", "2027a", "2027b"] as const;
const REAL = packagedZones().version;

/** Mean interval of the changes, in simulated milliseconds. */
const EVERY_MS = 150_000;

/** Name of the zone whose rules a release uses under this name. */
export function zoneIn(version: string, timezone: string): string {
  const number =
    RELEASES.findIndex((release) => release === version) - RELEASES.findIndex((release) => release === REAL);
  const { length } = OTHER_RULES;
  return OTHER_RULES[((number % length) + length) % length]?.[timezone] ?? timezone;
}

/**
 * At random times, new releases of the time zone data appear, servers start with the data of any release, and operators
 * bring any release into force.
 */
export class RuleChanges {
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #times: NowAndThen;
  /** Number of releases so far. */
  #released = 2;
  #isOn = false;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, server: () => SimServer | null) {
    this.#random = random;
    this.#history = history;
    this.#server = server;
    this.#times = new NowAndThen(clock, random);
  }

  /** Starts the changes; call it before the first server starts. */
  start(): void {
    this.#isOn = true;
    this.#times.start(EVERY_MS, () => {
      this.#released = Math.min(this.#released + this.#random.between(0, 1), RELEASES.length);
      const server = this.#server();
      const version = this.#some();
      if (server === null) return;
      this.#history.add({ kind: "TIME_ZONES_ASKED", server: server.process.name, version });
      // The request was refused, or its outcome is unknown.
      void server.changeTimeZones(version).catch(() => undefined);
    });
  }

  stop(): void {
    this.#times.stop();
  }

  /** Data of a server that starts now; the packaged data if rules do not change. */
  offered(): ZoneFilesText[] {
    return [this.#isOn ? releaseOf(this.#some()) : packagedZones()];
  }

  #some(): string {
    return this.#random.pick(RELEASES.slice(0, this.#released));
  }
}

const texts = new Map<string, ZoneFilesText>();

function releaseOf(version: string): ZoneFilesText {
  const packaged = packagedZones();
  if (version === packaged.version) return packaged;
  let text = texts.get(version);
  if (text === undefined) {
    const zones = { ...packaged.zones };
    for (const name of Object.keys(OTHER_RULES[1] ?? {})) zones[name] = rulesOf(zoneIn(version, name));
    texts.set(version, (text = { ...packaged, version, zones }));
  }
  return text;
}

/** File of a zone, even if the database has the name as an alias of another zone. */
function rulesOf(name: string): string {
  const { zones } = packagedZones();
  const text = zones[name] ?? "";
  return text.startsWith("=") ? (zones[text.slice(1)] ?? "") : text;
}
