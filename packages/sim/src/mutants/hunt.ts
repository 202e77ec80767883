import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { RUN_FLAGS } from "../run-flags.ts";
import { simulate } from "../simulate.ts";
import { HUNTED } from "./hunted.ts";
import type { Mutant } from "./mutant.ts";

/** Within so many seeds each mutant must be caught. */
const SEEDS = 200;
/** A mutant that hangs is no mutant that is caught. */
const HUNT_MAX_MS = 600_000;
const RECORD = new URL("../../caught.txt", import.meta.url);

export interface Hunted {
  mutant: Mutant;
  /** null: not within the seeds. */
  caught: { seed: number; violation: string; checker: string | null } | null;
  /** What the same seed gives without the mutant; null: everything held. */
  unmutated: string | null;
}

/** Looks for a seed that catches the mutant, first where it was caught before. In a process of its own. */
export async function hunt(mutant: Mutant): Promise<Hunted> {
  const seed = recordedSeeds().get(mutant.name) ?? 1;
  const [plant, main] = ["plant-process.ts", "hunt-process.ts"].map((name) => new URL(name, import.meta.url));
  const args = [...RUN_FLAGS, "--import", String(plant), fileURLToPath(main as URL), String(seed), String(SEEDS)];
  const env = { ...process.env, MAINSPRING_MUTANT: mutant.name };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: HUNT_MAX_MS });
  const caught = JSON.parse(stdout) as Hunted["caught"];
  return { mutant, caught, unmutated: caught === null ? null : await unmutatedVerdict(caught.seed) };
}

const verdicts = new Map<number, Promise<string | null>>();

/** Once a seed: many mutants are caught by the same. */
function unmutatedVerdict(seed: number): Promise<string | null> {
  const known = verdicts.get(seed) ?? simulate({ seed, ...HUNTED }).then(({ violation }) => violation);
  verdicts.set(seed, known);
  return known;
}

/** By the names of mutants. */
function recordedSeeds(): Map<string, number> {
  const lines = readFileSync(RECORD, "utf8").split("\n");
  const entries = lines.map((line) => /^(\d+) {2}(.+?) {2}/.exec(line));
  return new Map(entries.flatMap((entry) => (entry === null ? [] : [[entry[2] as string, Number(entry[1])]])));
}

/** Writes down where each was caught, so that the next hunt begins there. */
export function record(hunts: readonly Hunted[]): void {
  const lines = hunts.map(({ mutant, caught }) => `${caught?.seed}  ${mutant.name}  by: ${caught?.checker}`);
  const head = "# Where each mutant was caught last, which is where it is looked for first: seed, mutant, checker.";
  writeFileSync(RECORD, `${[head, ...lines].join("\n")}\n`);
}
