/**
 * Flags for processes that run simulations. Without the flag, the engine concludes from objects of the start that
 * messages live long, and allocates them where collecting them is expensive, which costs a quarter of the time.
 */
export const RUN_FLAGS: string[] = ["--no-allocation-site-pretenuring"];
