/**
 * Largest number of nodes of a run that are created and not final. It bounds the READY rows of a run, and the executions
 * that one commit creates.
 */
export const LIVE_MAX = 4_000;
