/** One minute of a zone, as Intl reports it. */
export interface WalkedMinute {
  at: number;
  /** Local time: minutes since 1970-01-01T00:00 on the local clock. */
  wall: number;
}

const MINUTE_MS = 60_000;

/**
 * Every minute of a zone from one instant to another, both whole minutes. Nothing is computed; Intl is asked for every
 * minute.
 */
export function walk(timezone: string, from: number, until: number): WalkedMinute[] {
  const wallOf = wallClock(timezone);
  const minutes: WalkedMinute[] = [];
  for (let at = from; at < until; at += MINUTE_MS) minutes.push({ at, wall: wallOf(at) });
  return minutes;
}

/** Instants of a year at which the clocks of a zone change, to the minute. */
export function clockChanges(timezone: string, year: number): number[] {
  const wallOf = wallClock(timezone);
  const changes: number[] = [];
  const stepMs = 6 * 60 * MINUTE_MS;
  for (let at = Date.UTC(year, 0, 1); at < Date.UTC(year + 1, 0, 1); at += stepMs) {
    if (wallOf(at + stepMs) - wallOf(at) === stepMs / MINUTE_MS) continue;
    let minute = at;
    while (wallOf(minute + MINUTE_MS) - wallOf(minute) === 1) minute += MINUTE_MS;
    changes.push(minute + MINUTE_MS);
  }
  return changes;
}

function wallClock(timezone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  return (at) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute) / MINUTE_MS;
  };
}
