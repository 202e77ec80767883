import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, RequestFailed } from "../api/client.ts";
import { tenant } from "./route.ts";

/** Time between two requests while no server answers, in milliseconds. */
const RETRY_MS = 2_000;
/** Status of a request without an answer, and of answers that a proxy or a starting server gives in place of the asked one. */
const OUTAGES = [0, 502, 503, 504];

export interface Answer<T> {
  /** null: there is none yet. */
  data: T | null;
  /** Error of the last request; null: it went well. */
  failure: RequestFailed | null;
  reload(): void;
}

/**
 * Answer of a GET, asked again at an interval while the page is visible. The last answer stays while a later request fails.
 * @param path null: nothing is asked. @param everyMs null: only `reload` asks again
 */
export function useAnswer<T>(path: string | null, everyMs: number | null = null): Answer<T> {
  const [held, setHeld] = useState<{ name: string; data: T } | null>(null);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  const latest = useRef<ReturnType<typeof inTurns> | null>(null);
  const name = `${tenant.value} ${path}`;
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    const run = async () => {
      try {
        const data = await ask<T>(path, { signal: stop.signal });
        setHeld({ name, data });
        setFailure(null);
      } catch (error) {
        if (!stop.signal.aborted && error instanceof RequestFailed) setFailure(error);
      }
    };
    const turns = inTurns(run, stop.signal);
    latest.current = turns;
    turns.again();
    const timer = everyMs === null ? null : setInterval(() => !document.hidden && turns.unlessRunning(), everyMs);
    return () => {
      stop.abort();
      if (timer !== null) clearInterval(timer);
    };
  }, [path, name, everyMs]);
  const reload = useCallback(() => latest.current?.again(), []);
  const retry = useCallback(() => latest.current?.unlessRunning(), []);
  useRetry(failure, retry);
  return { data: held?.name === name ? held.data : null, failure, reload };
}

/** Asks again after an outage, until another answer comes. Pages that nothing else asks again would show the outage for ever. */
export function useRetry(failure: RequestFailed | null, again: () => void): void {
  const isOutage = failure !== null && OUTAGES.includes(failure.problem.status);
  useEffect(() => {
    if (!isOutage) return undefined;
    const timer = setInterval(() => !document.hidden && again(), RETRY_MS);
    return () => clearInterval(timer);
  }, [isOutage, again]);
}

/** Runs one request at a time. A request that takes long is neither repeated beside itself nor cut off by the next one. */
function inTurns(run: () => Promise<void>, signal: AbortSignal) {
  let isRunning = false;
  let isAskedAgain = false;
  const again = async () => {
    isAskedAgain = true;
    if (isRunning) return;
    isRunning = true;
    while (isAskedAgain && !signal.aborted) {
      isAskedAgain = false;
      await run();
    }
    isRunning = false;
  };
  return { again: () => void again(), unlessRunning: () => void (isRunning || again()) };
}

/** An action of the user: whether it runs, and the error of its last run. */
export interface Action {
  isRunning: boolean;
  failure: RequestFailed | null;
  run(): void;
}

/** @param act sends the request. @param done called after success */
export function useAction(act: () => Promise<unknown>, done: () => void = () => {}): Action {
  const [isRunning, setRunning] = useState(false);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  const run = async () => {
    setRunning(true);
    try {
      await act();
      setFailure(null);
      done();
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      setFailure(error);
    } finally {
      setRunning(false);
    }
  };
  return { isRunning, failure, run: () => void run() };
}
