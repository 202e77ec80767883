import type pg from "pg";
import type { Runtime } from "../../../ports/runtime.ts";

type QueryResult = pg.QueryArrayResult | pg.QueryArrayResult[];

/**
 * Runs a query by pg's callback interface and with an own timer. Objects that pg creates for a promise, or for its
 * `query_timeout`, outlive the answer and keep later objects alive until a full garbage collection. With statement
 * after statement, each collection of the young generation took 10 to 20 ms instead of one, and stopped the process for
 * that time.
 * @throws pg's error; or a timeout, after which the connection must not be used again
 */
export function runQuery(
  client: pg.ClientBase,
  query: pg.QueryArrayConfig,
  timeoutMs: number,
  runtime: Pick<Runtime, "setTimer">,
): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    const timer = runtime.setTimer(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs / 1_000} s`)));
    client.query(query, (error: Error | null, answer: QueryResult) => {
      timer.cancel();
      if (error === null) resolve(answer);
      else reject(error);
    });
  });
}
