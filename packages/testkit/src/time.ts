/** Simulated time and seeded randomness, which the simulator of the repository shares with `simulate()`. */
export { SeededRandom, simUuid } from "./time/seeded-random.ts";
export { VirtualClock } from "./time/virtual-clock.ts";
