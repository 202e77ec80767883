/** Mainspring in a test: the parts that production runs, within the process, on a clock that the test moves. */
export type { Duration } from "./rehearsal/duration.ts";
export type { Enqueued } from "./rehearsal/enqueued.ts";
export type { HandlerFailure } from "./rehearsal/handlers.ts";
export { type SimulateOptions, simulate } from "./rehearsal/simulate.ts";
export { NotReached, type SimulatedClock, type Simulation, type WaitForOptions } from "./rehearsal/simulation.ts";
