import process from "node:process";
import { simulate } from "./simulate.ts";
import type { SimulationOptions } from "./simulation.ts";

/** Runs one simulation after the other for the parent process. */
process.on("message", async (options: SimulationOptions) => {
  const began = process.hrtime.bigint();
  const verdict = await simulate(options);
  process.send?.({ verdict, tookSec: Number(process.hrtime.bigint() - began) / 1e9 });
});
