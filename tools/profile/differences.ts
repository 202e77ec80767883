/** A test of the embedded profile that does not hold on a cluster with all servers. */
export interface Difference {
  /** Name of the file without `.test.ts`. */
  file: string;
  /** Name of the test. */
  test: string;
  why: string;
  /** Test that shows what holds instead. */
  instead: string;
}

/** All differences. */
export const DIFFERENCES: readonly Difference[] = [];
