import { readFileSync, writeFileSync } from "node:fs";
import type { Hunted } from "./hunt.ts";

const RECORD = new URL("../../caught.txt", import.meta.url);
const LINE = /^(\d+) {2}(.+?) {2}by: (.+?) {2}after /;

/** Where a mutant was caught, and by whom. */
export interface Record {
  seed: number;
  checker: string;
}

/** By the names of mutants. */
export function records(): Map<string, Record> {
  const found = new Map<string, Record>();
  for (const line of readFileSync(RECORD, "utf8").split("\n")) {
    const [, seed, name, checker] = LINE.exec(line) ?? [];
    if (name !== undefined && checker !== undefined) found.set(name, { seed: Number(seed), checker });
  }
  return found;
}

/** Writes down where each was caught, so that the next hunt begins there. */
export function record(hunts: readonly Hunted[]): void {
  const lines = hunts.flatMap(({ mutant, caught }) => {
    if (caught === null) return [];
    const { seed, checker, afterMs } = caught;
    return [`${seed}  ${mutant.name}  by: ${checker}  after ${Math.round(afterMs / 1_000)} s`];
  });
  const head = "# Where each mutant was caught: seed, mutant, checker, simulated time.";
  writeFileSync(RECORD, `${[head, ...lines].join("\n")}\n`);
}
