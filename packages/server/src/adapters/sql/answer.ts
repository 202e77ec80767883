import type pg from "pg";
import type { Runtime } from "../../ports/runtime.ts";

type Answer = pg.QueryArrayResult | pg.QueryArrayResult[];

/**
 * Asks by pg's callback and with a timer of our own. What pg makes for a promise, or for its `query_timeout`, lives on when it has
 * its answer and holds what comes after it, until all memory is looked through: statement after statement, so that each look
 * through the young memory alone took 10 to 20 ms instead of one, and everybody waited for it.
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
