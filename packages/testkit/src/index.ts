/** Mainspring for tests: the parts that production runs, within one process, on a clock that the test moves. */
export type { Duration } from "./duration.ts";
export type { Enqueued } from "./enqueued.ts";
export type { HandlerFailure } from "./handlers.ts";
export { type SimulateOptions, simulate } from "./simulate.ts";
export type { SimulatedNode } from "./simulated-nodes.ts";
export { NotReached, type SimulatedClock, type Simulation, type WaitForOptions } from "./simulation.ts";
