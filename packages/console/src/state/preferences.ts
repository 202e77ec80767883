import { effect, signal } from "@preact/signals";
import { isZone } from "../text/times.ts";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEPT = "mainspring.preferences";
const TICK_MS = 1_000;

/** Time zone of absolute times. */
export const zone = signal("UTC");
export const theme = signal<Theme>("system");
/** Whether times are shown as the distance from now. */
export const isRelative = signal(true);
/** Present time, which advances each second. */
export const now = signal(Date.now());

/** Zone of the clocks of this machine. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Reads what this browser keeps, and keeps changes. */
export function keepPreferences(): void {
  const kept = readKept();
  if (typeof kept["zone"] === "string" && isZone(kept["zone"])) zone.value = kept["zone"];
  theme.value = THEMES.find((name) => name === kept["theme"]) ?? "system";
  isRelative.value = kept["isRelative"] !== false;
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
    write({ zone: zone.value, theme: theme.value, isRelative: isRelative.value });
  });
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, TICK_MS);
}

function readKept(): Record<string, unknown> {
  try {
    return (JSON.parse(localStorage.getItem(KEPT) ?? "{}") ?? {}) as Record<string, unknown>;
  } catch {
    // The browser keeps nothing, or something else.
    return {};
  }
}

function write(kept: object): void {
  try {
    localStorage.setItem(KEPT, JSON.stringify(kept));
  } catch {
    // A private window may refuse: the choice lasts as long as the page.
  }
}
