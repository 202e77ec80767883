import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { RUN_FLAGS } from "../run-flags.ts";
import { failsItsTest } from "./failing-test.ts";
import { type Caught, HOUR_SEC, type Tried, tried } from "./hunted.ts";
import type { MoreFaults, Mutant } from "./mutant.ts";
import { records } from "./record.ts";

/** Number of seeds within which each mutant must be caught. */
const SEEDS = 200;
const BEGINNING: Tried = { seed: 1, untilSec: HOUR_SEC };
/** Number of seeds to try when the recorded seed no longer catches the mutant. */
const SEEDS_INSTEAD = 20;
/** Number of further seeds to try when a catch is recorded, because an earlier catch is replayed faster. */
const MORE_SEEDS = 3;
/** Time limit of a hunt, in milliseconds; a mutant that hangs does not count as caught. */
const HUNT_MAX_MS = 1_800_000;
/** Folder of compiled code, so that a process need not compile what an earlier one has compiled. */
const COMPILED = fileURLToPath(new URL("../../../../node_modules/.cache/mainspring-mutants", import.meta.url));

export interface Hunted {
  mutant: Mutant;
  /** The violation, or the name of the test that failed; null: neither the seeds nor the test showed the mutant. */
  caught: Caught | string | null;
  /** Reason why the catch does not count; null: it counts. */
  objection: string | null;
}

/** Looks for a seed that catches the mutant and finds nothing without it, first at the recorded seed. */
export function hunt(mutant: Mutant, isToBeRecorded = false): Promise<Hunted> {
  const first = records().get(mutant.name) ?? BEGINNING;
  return huntFrom(mutant, first, SEEDS, isToBeRecorded ? MORE_SEEDS : 0);
}

/**
 * Tries the record: the same checker must find the mutant again; the seed is not run without the mutant again. If a
 * change of the product has shifted the random numbers, the mutant's test and some further seeds are tried.
 */
export async function replay(mutant: Mutant): Promise<Hunted> {
  const record = records().get(mutant.name);
  if (record !== undefined) {
    const caught = await run(mutant, record, 0, 0);
    if (caught?.checker === record.checker) return { mutant, caught, objection: null };
  }
  return (await tested(mutant)) ?? (await huntFrom(mutant, record ?? BEGINNING, SEEDS_INSTEAD, 0));
}

async function tested(mutant: Mutant): Promise<Hunted | null> {
  const { test } = mutant;
  if (test === undefined) return null;
  return { mutant, caught: (await failsItsTest({ ...mutant, test })) ? test.name : null, objection: null };
}

async function huntFrom(mutant: Mutant, first: Tried, limit: number, more: number): Promise<Hunted> {
  const caught = await run(mutant, first, limit, more);
  const found = caught === null ? null : await unmutatedVerdict(caught, mutant);
  return { mutant, caught, objection: found === null ? null : `without it too: ${found}` };
}

/** Runs in a process of its own. */
async function run(mutant: Mutant, first: Tried, limit: number, more: number): Promise<Caught | null> {
  const [plant, main] = ["plant-process.ts", "hunt-process.ts"].map((name) => new URL(name, import.meta.url));
  const numbers = [first.seed, first.untilSec, limit, more].map(String);
  const args = [...RUN_FLAGS, "--import", String(plant), fileURLToPath(main as URL), ...numbers];
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED, MAINSPRING_MUTANT: mutant.name };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: HUNT_MAX_MS });
  return JSON.parse(stdout) as Caught | null;
}

const verdicts = new Map<string, Promise<string | null>>();

/** Runs each seed and time once without a mutant, because many mutants are caught by the same. */
function unmutatedVerdict({ seed, untilSec }: Tried, more: MoreFaults): Promise<string | null> {
  const name = `${seed} ${untilSec} ${more.waysBack ?? ""} ${more.tzChanges === true}`;
  const known = verdicts.get(name) ?? tried(seed, untilSec, more).then((found) => found?.violation ?? null);
  verdicts.set(name, known);
  return known;
}
