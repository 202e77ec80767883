import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { RUN_FLAGS } from "../run-flags.ts";
import { failsItsTest } from "./failing-test.ts";
import { type Caught, HOUR_SEC, type Tried, tried } from "./hunted.ts";
import type { MoreFaults, Mutant } from "./mutant.ts";
import { records } from "./record.ts";

/** Within so many seeds each mutant must be caught. */
const SEEDS = 200;
const BEGINNING: Tried = { seed: 1, untilSec: HOUR_SEC };
/** Where the record does not show it any more, so many are enough to say that it is caught all the same. */
const SEEDS_INSTEAD = 20;
/** Where a catch is to be written down, as many more seeds are tried: what is caught sooner is replayed sooner. */
const MORE_SEEDS = 3;
/** A mutant that hangs is no mutant that is caught. */
const HUNT_MAX_MS = 1_800_000;
/** Each process reads the whole product: what one has compiled the next one need not. */
const COMPILED = fileURLToPath(new URL("../../../../node_modules/.cache/mainspring-mutants", import.meta.url));

export interface Hunted {
  mutant: Mutant;
  /** The violation, or the name of the test that failed; null: neither the seeds nor the test showed the mutant. */
  caught: Caught | string | null;
  /** Why the catch does not count; null: it does. */
  objection: string | null;
}

/** Looks for a seed that catches the mutant and nothing without it, first where it was caught before. */
export function hunt(mutant: Mutant, isToBeRecorded = false): Promise<Hunted> {
  const first = records().get(mutant.name) ?? BEGINNING;
  return huntFrom(mutant, first, SEEDS, isToBeRecorded ? MORE_SEEDS : 0);
}

/**
 * Tries the record: whoever saw it then has to see it now; that the seed is sound is not tried again. Where a change of the
 * product has moved the dice, some seeds are tried from there on.
 */
export async function replay(mutant: Mutant): Promise<Hunted> {
  const record = records().get(mutant.name);
  if (record === undefined) return (await tested(mutant)) ?? (await huntFrom(mutant, BEGINNING, SEEDS_INSTEAD, 0));
  const caught = await run(mutant, record, 0, 0);
  if (caught?.checker === record.checker) return { mutant, caught, objection: null };
  return await huntFrom(mutant, record, SEEDS_INSTEAD, 0);
}

/** Tries the record, or the test of a mutant without a record, and nothing else. @returns null: the mutant has neither */
export async function prove(mutant: Mutant): Promise<Hunted | null> {
  const record = records().get(mutant.name);
  if (record === undefined) return await tested(mutant);
  const caught = await run(mutant, record, 0, 0);
  return { mutant, caught: caught?.checker === record.checker ? caught : null, objection: null };
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

/** In a process of its own. */
async function run(mutant: Mutant, first: Tried, limit: number, more: number): Promise<Caught | null> {
  const [plant, main] = ["plant-process.ts", "hunt-process.ts"].map((name) => new URL(name, import.meta.url));
  const numbers = [first.seed, first.untilSec, limit, more].map(String);
  const args = [...RUN_FLAGS, "--import", String(plant), fileURLToPath(main as URL), ...numbers];
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED, MAINSPRING_MUTANT: mutant.name };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: HUNT_MAX_MS });
  return JSON.parse(stdout) as Caught | null;
}

const verdicts = new Map<string, Promise<string | null>>();

/** Once a seed and time: many mutants are caught by the same. */
function unmutatedVerdict({ seed, untilSec }: Tried, more: MoreFaults): Promise<string | null> {
  const name = `${seed} ${untilSec} ${more.waysBack ?? ""} ${more.tzChanges === true}`;
  const known = verdicts.get(name) ?? tried(seed, untilSec, more).then((found) => found?.violation ?? null);
  verdicts.set(name, known);
  return known;
}
