import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monotonicMs } from "./clock.ts";
import { SeededRandom } from "./seeded-random.ts";

export interface Telling {
  seed: number;
  /** Whether the folder is kept even if there were no violations. */
  keeps?: boolean;
  /** Called with messages about the run. */
  say(message: string): void;
}

/** Outcome of a run. */
export interface Outcome {
  /** Violations of the run's own rules. */
  violations: { rule: string; what: string }[];
  figures: Record<string, number>;
}

export interface Report extends Outcome {
  /** Folder with histories, logs and data; null: there were no violations, and the folder is removed. */
  folder: string | null;
}

/** Context of every run. */
export interface RunContext {
  folder: string;
  random: SeededRandom;
  say(message: string): void;
}

/**
 * Runs a scenario in a folder of its own, which is kept after a violation.
 * @throws {Error} the error of `run`; the message names the folder
 */
export async function play(
  name: string,
  telling: Telling,
  run: (context: RunContext) => Promise<Outcome>,
): Promise<Report> {
  const { seed } = telling;
  const folder = await mkdtemp(join(tmpdir(), `mainspring-${name}-`));
  const begunMs = monotonicMs();
  const say = (message: string) => telling.say(`${((monotonicMs() - begunMs) / 1_000).toFixed(1)} s: ${message}`);
  say(`seed ${seed}, ${folder}`);
  try {
    const verdict = await run({ folder, random: new SeededRandom(seed), say });
    if (telling.keeps === true || verdict.violations.length > 0) return { ...verdict, folder };
    await rm(folder, { recursive: true, force: true });
    return { ...verdict, folder: null };
  } catch (cause) {
    throw new Error(`${(cause as Error).message} (seed ${seed}, see ${folder})`, { cause });
  }
}
