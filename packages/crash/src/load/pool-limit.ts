/** How many attempts the pool of all jobs allows at once: fewer than its workers have slots. */
export const POOL_LIMIT = 60;
