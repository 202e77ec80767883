import type { Runtime, Timer } from "../../ports/runtime.ts";

export interface Renewing {
  runtime: Runtime;
  everyMs: number;
  /** May fail: then it is tried again. */
  renew(): Promise<unknown>;
}

/** Renews as long as the work lasts, which may be longer than a lease stands. @returns what comes of the work */
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
    // Its answer must not come after that of a later one.
    await renewal;
  }
}
