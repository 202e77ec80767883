import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monotonicMs } from "./clock.ts";
import { Dice } from "./dice.ts";
import { injectFaults } from "./faults/inject.ts";
import { judge, type Verdict } from "./judge/judge.ts";
import { settle } from "./settle.ts";
import { openStage, type Stage, type StoreKind } from "./stage/stage.ts";
import { warmUp } from "./warm-up.ts";

export interface CrashOptions {
  store: StoreKind;
  /** How long faults are injected at least; every kind comes at least once, however short this is. */
  forMs: number;
  seed: number;
  /** Hears what happens. */
  say(message: string): void;
}

export interface CrashReport extends Verdict {
  /** Where histories, logs and data are; null: all was well and they are gone. */
  folder: string | null;
}

/**
 * Kills and stops the processes of a whole Mainspring under load, lets everything come to rest, and judges what became
 * of the jobs.
 * @throws {Error} something did not come back or come to rest in time; the message names the folder with the logs
 */
export async function crashRun(options: CrashOptions): Promise<CrashReport> {
  const { store, seed, forMs } = options;
  const folder = await mkdtemp(join(tmpdir(), `mainspring-crash-${store}-`));
  const begunMs = monotonicMs();
  const say = (message: string) => options.say(`${((monotonicMs() - begunMs) / 1_000).toFixed(1)} s: ${message}`);
  say(`seed ${seed}, ${folder}`);
  try {
    const verdict = await runOn(await openStage({ kind: store, folder, dice: new Dice(seed), say }), forMs);
    if (verdict.violations.length > 0) return { ...verdict, folder };
    await rm(folder, { recursive: true, force: true });
    return { ...verdict, folder: null };
  } catch (cause) {
    throw new Error(`${(cause as Error).message} (seed ${seed}, see ${folder})`, { cause });
  }
}

async function runOn(stage: Stage, forMs: number): Promise<Verdict> {
  const { say } = stage;
  try {
    await warmUp(stage);
    say("under load");
    await injectFaults(stage, forMs);
    say("no more faults");
    const evidence = await settle(stage);
    say("everything is known");
    return judge(evidence);
  } finally {
    await stage.close();
  }
}
