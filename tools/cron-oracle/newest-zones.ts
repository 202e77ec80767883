import { Zone } from "luxon";
import { python } from "./implementations.ts";

/** [since, offset] in seconds, ascending. */
type Offsets = [number, number][];

/**
 * Zones by the newest data, as Python's zoneinfo reads it, because luxon knows only the platform's data. @throws
 * {Error} as `cronsim`
 */
export function newestZones(names: readonly string[]): Map<string, NewestZone> {
  const unique = [...new Set(names)];
  const all = python("offsets.py", unique) as Offsets[];
  return new Map(unique.map((name, index) => [name, new NewestZone(name, all[index] as Offsets)]));
}

/** A zone in luxon's form. */
export class NewestZone extends Zone {
  readonly #name: string;
  readonly #offsets: Offsets;

  constructor(name: string, offsets: Offsets) {
    super();
    this.#name = name;
    this.#offsets = offsets;
  }

  override get type(): string {
    return "newest";
  }

  override get name(): string {
    return this.#name;
  }

  override get isUniversal(): boolean {
    return false;
  }

  override get isValid(): boolean {
    return true;
  }

  override offsetName(): string {
    return this.#name;
  }

  override formatOffset(): string {
    return this.#name;
  }

  override equals(other: Zone): boolean {
    return other === this;
  }

  /** @param at milliseconds since 1970 @returns offset in minutes */
  override offset(at: number): number {
    const [, seconds] = this.#offsets.findLast(([since]) => since * 1_000 <= at) ?? this.#offsets[0] ?? [0, 0];
    return seconds / 60;
  }
}
