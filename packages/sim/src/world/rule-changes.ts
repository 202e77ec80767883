import { packagedZones, type ZoneFilesText } from "@mainspring/server/testing";
import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { SimServer } from "./sim-server.ts";

/**
 * Real rules of other zones, which a release gives to the zones of the recurring jobs: offsets differ by up to two hours, and the clocks are
 * set at other moments or not at all. The empty one leaves every zone as it is.
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
/** Releases in order; the second one is the packaged data as it is. */
const RELEASES = ["2026e", "2026f", "2026g", "2026h", "2027a", "2027b"] as const;
const REAL = packagedZones().version;

/** The mean time between two changes. */
const EVERY_MS = 150_000;

/** The zone whose rules a release has under this name. */
export function zoneIn(version: string, timezone: string): string {
  const number =
    RELEASES.findIndex((release) => release === version) - RELEASES.findIndex((release) => release === REAL);
  const { length } = OTHER_RULES;
  return OTHER_RULES[((number % length) + length) % length]?.[timezone] ?? timezone;
}

/**
 * New releases of the time zone data appear, servers start with the data of any of them, and operators bring any release into force, at
 * times of the dice's choosing.
 */
export class RuleChanges {
  readonly #dice: Dice;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #times: NowAndThen;
  /** Releases that there are so far. */
  #released = 2;
  #isOn = false;

  constructor(clock: VirtualClock, dice: Dice, history: History, server: () => SimServer | null) {
    this.#dice = dice;
    this.#history = history;
    this.#server = server;
    this.#times = new NowAndThen(clock, dice);
  }

  /** Before the first server starts. */
  start(): void {
    this.#isOn = true;
    this.#times.start(EVERY_MS, () => {
      this.#released = Math.min(this.#released + this.#dice.between(0, 1), RELEASES.length);
      const server = this.#server();
      const version = this.#some();
      if (server === null) return;
      this.#history.add({ kind: "TIME_ZONES_ASKED", server: server.process.name, version });
      // Refused, or nobody knows.
      void server.changeTimeZones(version).catch(() => undefined);
    });
  }

  stop(): void {
    this.#times.stop();
  }

  /** The data of a server that starts now; the packaged data where rules do not change. */
  offered(): ZoneFilesText[] {
    return [this.#isOn ? releaseOf(this.#some()) : packagedZones()];
  }

  #some(): string {
    return this.#dice.pick(RELEASES.slice(0, this.#released));
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

/** The file of a zone, also where the database has it as another name of a zone. */
function rulesOf(name: string): string {
  const { zones } = packagedZones();
  const text = zones[name] ?? "";
  return text.startsWith("=") ? (zones[text.slice(1)] ?? "") : text;
}
