import type { SimulateOptions, Simulation } from "@mainspring/sim";
import { MainspringError } from "./errors.ts";

/**
 * Starts Mainspring within this process, for tests: no server, no database, and a clock that stands still until the test
 * moves it. Needs the package `@mainspring/sim`, which programs in production do without.
 * @throws {MainspringError} BAD_OPTION: an option is wrong, or the package is not installed
 */
export async function simulate(options?: SimulateOptions): Promise<Simulation> {
  const sim = await import("@mainspring/sim").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "ERR_MODULE_NOT_FOUND" || !cause.message.includes("@mainspring/sim")) throw cause;
    const message =
      "tests need the package @mainspring/sim, in the SDK's version: npm install --save-dev @mainspring/sim";
    throw new MainspringError("BAD_OPTION", message, { cause });
  });
  return sim.simulate(options);
}

export type {
  Duration,
  Enqueued,
  HandlerFailure,
  NotReached,
  SimulatedClock,
  SimulateOptions,
  Simulation,
  WaitForOptions,
} from "@mainspring/sim";
