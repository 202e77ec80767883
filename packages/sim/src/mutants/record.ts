import { readFileSync, writeFileSync } from "node:fs";
import type { Tried } from "./hunted.ts";

const RECORD = new URL("../../caught.txt", import.meta.url);
const LINE = /^(\d+) (\d+) {2}(.+?) {2}by: (.+)$/;

/** The seed that caught a mutant, and the checker. */
export interface Record extends Tried {
  checker: string;
}

/** Records by the names of mutants. */
export function records(): Map<string, Record> {
  const found = new Map<string, Record>();
  for (const line of readFileSync(RECORD, "utf8").split("\n")) {
    const [, seed, untilSec, name, checker] = LINE.exec(line) ?? [];
    if (name === undefined || checker === undefined) continue;
    found.set(name, { seed: Number(seed), untilSec: Number(untilSec), checker });
  }
  return found;
}

/** Writes a catch into the records at once, so that the next hunt begins there even if this one is interrupted. */
export function record(name: string, caught: Record): void {
  const all = records().set(name, caught);
  const lines = Array.from(
    all,
    ([known, { seed, untilSec, checker }]) => `${seed} ${untilSec}  ${known}  by: ${checker}`,
  );
  const head = "# Where each mutant was caught: seed, simulated seconds that it takes, mutant, checker.";
  writeFileSync(RECORD, `${[head, ...lines].join("\n")}\n`);
}
