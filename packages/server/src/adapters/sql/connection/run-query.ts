import type pg from "pg";
import type { Runtime } from "../../../ports/runtime.ts";

type Answer = pg.QueryArrayResult | pg.QueryArrayResult[];

/**
 * Asks by pg's callback and with a timer of our own. Objects that pg makes for a promise, or for its `query_timeout`,
 * outlive the answer and keep the objects after them alive until a full garbage collection. With statement after
 * statement, each collection of the young generation took 10 to 20 ms instead of one, and stopped the process for that
 * time.
 * @throws what pg says; or that there was no answer in time, and then the connection is of no more use
 */
export function answerOf(
  client: pg.ClientBase,
  query: pg.QueryArrayConfig,
  timeoutMs: number,
  runtime: Pick<Runtime, "setTimer">,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = runtime.setTimer(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs / 1_000} s`)));
    client.query(query, (error: Error | null, answer: Answer) => {
      timer.cancel();
      if (error === null) resolve(answer);
      else reject(error);
    });
  });
}
