/** A promise and the functions that settle it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason: unknown) => void;
}

/** `Promise.withResolvers`, for parts of the server that a simulated test runs on Node 20. */
export function deferred<T>(): Deferred<T> {
  let resolve!: Deferred<T>["resolve"];
  let reject!: Deferred<T>["reject"];
  const promise = new Promise<T>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  return { promise, resolve, reject };
}
