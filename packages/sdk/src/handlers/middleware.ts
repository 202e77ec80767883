import type { TaskContext } from "./context.ts";

/** Context of an attempt as middleware sees it. */
export interface MiddlewareContext extends TaskContext {
  /** Name of the task. */
  readonly handler: string;
}

/**
 * Runs around each handler of a worker. `next` runs what comes after it, and resolves with the handler's result or rejects with its
 * error. Middleware may throw, which fails the attempt; the result and the error of a handler stay what they are.
 */
export type Middleware = (ctx: MiddlewareContext, next: () => Promise<unknown>) => unknown;

/** Runs a handler within middleware, the first one outermost. @returns the handler's result */
export async function runWithin(
  middleware: readonly Middleware[],
  ctx: MiddlewareContext,
  run: () => unknown,
): Promise<unknown> {
  let handler: Promise<unknown> | null = null;
  const step = async (index: number): Promise<unknown> => {
    const current = middleware[index];
    if (current === undefined) {
      handler = (async () => run())();
      return await handler;
    }
    let rest: Promise<unknown> | null = null;
    await current(ctx, () => {
      if (rest !== null) throw new Error("middleware has called next() twice: a handler runs once in an attempt");
      rest = step(index + 1);
      // A middleware that does not wait for it hears of its failure through the attempt.
      rest.catch(() => undefined);
      return rest;
    });
    if (rest === null)
      throw new Error("middleware has ended without next(): the handler did not run; throw an error to skip it");
    return await (rest as Promise<unknown>);
  };
  await step(0);
  return await (handler as unknown as Promise<unknown>);
}
