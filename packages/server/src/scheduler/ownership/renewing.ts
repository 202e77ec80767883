import type { Runtime, Timer } from "../../ports/runtime.ts";

export interface Renewing {
  runtime: Runtime;
  everyMs: number;
  /** Renews the lease. A failed call is repeated. */
  renew(): Promise<unknown>;
}

/**
 * Renews the lease while the work lasts, which may be longer than the lease is valid.
 * @returns the result of the work
 */
export async function renewingWhile<T>({ runtime, everyMs, renew }: Renewing, work: Promise<T>): Promise<T> {
  let isOver = false;
  let timer: Timer | null = null;
  let renewal: Promise<void> = Promise.resolve();
  const renewLater = () => {
    if (!isOver) timer = runtime.setTimer(everyMs, renewNow);
  };
  const renewNow = () => {
    renewal = renew().then(renewLater, renewLater);
  };
  renewLater();
  try {
    return await work;
  } finally {
    isOver = true;
    (timer as Timer | null)?.cancel();
    // Waits for the renewal in flight, whose answer must not arrive after that of a later one.
    await renewal;
  }
}
