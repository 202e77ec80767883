import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { answerOf, askText, RequestFailed } from "../api/client.ts";
import { type Pace, type PageWindow, Reads } from "./reads.ts";
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

const HERE: PageWindow = {
  isHidden: () => document.hidden,
  onShown: (tell) => {
    const change = () => !document.hidden && tell();
    document.addEventListener("visibilitychange", change);
    return () => document.removeEventListener("visibilitychange", change);
  },
};

/**
 * Answer of a GET, asked again at intervals while the page is visible. The last answer stays while a later request fails, and a request with
 * the same answer changes nothing of the page.
 * @param path null: nothing is asked. @param pace interval in milliseconds, or intervals; null: only `reload` asks again
 */
export function useAnswer<T>(path: string | null, pace: number | Pace | null = null): Answer<T> {
  const [held, setHeld] = useState<{ name: string; data: T } | null>(null);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  const latest = useRef<Reads | null>(null);
  const name = `${tenant.value} ${path}`;
  const paced = useRef<Pace | null>(null);
  paced.current = typeof pace === "number" ? { everyMs: pace, busyMs: pace } : pace;
  const isLive = pace !== null;
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    let last: string | null = null;
    const read = async (isNew: boolean) => {
      const maxAgeMs = isNew ? 0 : (paced.current?.everyMs ?? 0) / 2;
      try {
        const text = await askText(path, { signal: stop.signal, maxAgeMs });
        const [isFirst, isChanged] = [last === null, text !== last];
        last = text;
        if (isChanged) setHeld({ name, data: answerOf<T>(text) });
        setFailure(null);
        return isChanged && !isFirst;
      } catch (error) {
        if (!stop.signal.aborted && error instanceof RequestFailed) setFailure(error);
        return false;
      }
    };
    const reads = new Reads(read, () => paced.current, HERE);
    latest.current = reads;
    return () => {
      stop.abort();
      reads.stop();
    };
  }, [path, name, isLive]);
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
