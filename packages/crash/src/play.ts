import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monotonicMs } from "./clock.ts";
import { Dice } from "./dice.ts";

export interface Telling {
  seed: number;
  /** Whether the folder is kept even if all was well. */
  keeps?: boolean;
  /** Hears what happens. */
  say(message: string): void;
}

/** Outcome of a run. */
export interface Outcome {
  /** Violations of the run's own rules. */
  violations: { rule: string; what: string }[];
  figures: Record<string, number>;
}

export interface Report extends Outcome {
  /** Where histories, logs and data are; null: all was well and they are gone. */
  folder: string | null;
}

/** Context of every run. */
export interface Ground {
  folder: string;
  dice: Dice;
  say(message: string): void;
}

/**
 * Plays a run in a folder of its own, which is kept if anything was wrong.
 * @throws {Error} what `run` throws; the message names the folder
 */
export async function play(name: string, telling: Telling, run: (ground: Ground) => Promise<Outcome>): Promise<Report> {
  const { seed } = telling;
  const folder = await mkdtemp(join(tmpdir(), `mainspring-${name}-`));
  const begunMs = monotonicMs();
  const say = (message: string) => telling.say(`${((monotonicMs() - begunMs) / 1_000).toFixed(1)} s: ${message}`);
  say(`seed ${seed}, ${folder}`);
  try {
    const verdict = await run({ folder, dice: new Dice(seed), say });
    if (telling.keeps === true || verdict.violations.length > 0) return { ...verdict, folder };
    await rm(folder, { recursive: true, force: true });
    return { ...verdict, folder: null };
  } catch (cause) {
    throw new Error(`${(cause as Error).message} (seed ${seed}, see ${folder})`, { cause });
  }
}
