/** The simulation that mutants are hunted with. */
export const HUNTED = { hours: 1, nodes: 3, workers: 10, jobs: 2_000 } as const;
