import type { SimulateOptions, Simulation } from "@mainspring/testkit";
import { MainspringError } from "./errors.ts";

/**
 * Starts Mainspring within this process, for tests.
 * @deprecated former name of `simulate` of `@mainspring/testkit`, which this function imports; the next release is the last one with it
 * @throws {MainspringError} BAD_OPTION: an option is wrong, or the package is not installed
 */
export async function simulate(options?: SimulateOptions): Promise<Simulation> {
  const sim = await import("@mainspring/testkit").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "ERR_MODULE_NOT_FOUND" || !cause.message.includes("@mainspring/testkit")) throw cause;
    const message =
      "tests need the package @mainspring/testkit, in the SDK's version: npm install --save-dev @mainspring/testkit";
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
} from "@mainspring/testkit";
