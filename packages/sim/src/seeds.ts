import { readFileSync } from "node:fs";
import type { SimulationOptions } from "./simulation.ts";

/** Seeds that once found a violation. */
export function rememberedSeeds(): SimulationOptions[] {
  const text = readFileSync(new URL("../seeds.txt", import.meta.url), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [seed = 0, hours = 1, workers = 10, jobs = 2_000, nodes = 3] = line.split(/\s+/, 5).map(Number);
    return { seed, hours, nodes, workers, jobs };
  });
}
