/** Runs work that a generator divides into steps, all at once. @returns result of the last step */
export function allSteps<R>(work: Generator<undefined, R>): R {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
