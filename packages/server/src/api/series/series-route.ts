import { SeriesBody } from "@mainspring/contract";
import { isOfOperators } from "../../security/tenant.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { callerOf } from "../http/security.ts";
import { gatherSeries, type SeriesDependencies } from "./gather-series.ts";
import { viewSeries } from "./series-view.ts";

/** Time for which callers share an answer, in milliseconds: many open consoles cost as much as one. */
const SHARED_MS = 5_000;

interface RouteDependencies extends SeriesDependencies {
  /** Tenants of the store; left out: there is only `default`. */
  tenants?: { readonly hasSeveral: boolean } | undefined;
}

/** Route GET /v1/series */
export function seriesRoute(app: HttpApp, deps: RouteDependencies): void {
  const read = shared(deps, async () => viewSeries(await gatherSeries(deps)));
  const schema = {
    operationId: "getSeries",
    tags: ["node"],
    summary: "Read the last hour of the servers' figures, and which alerts would fire; for operators",
    response: {
      200: answer(
        SeriesBody,
        "Merged from the memory of all living servers: points of ten seconds, which begin with the start of a server",
      ),
      ...problems(),
    },
  };
  app.get("/v1/series", { schema, config: { scope: "jobs:read", isShared: true } }, async (request) => {
    const { tenant, scopes } = callerOf(request);
    // The figures name pools and handlers of every tenant.
    const isForOperators = deps.tenants?.hasSeveral === true && !scopes.has("metrics:read");
    if (!isOfOperators(tenant) || isForOperators) throw forbidden();
    return await read();
  });
}

/** Callers within a time get one answer, also while it is being made. */
function shared<T>({ runtime }: Pick<SeriesDependencies, "runtime">, make: () => Promise<T>): () => Promise<T> {
  let made: { answer: Promise<T>; untilMs: number } | null = null;
  return () => {
    if (made !== null && runtime.monotonicMs() < made.untilMs) return made.answer;
    const answer = make();
    made = { answer, untilMs: runtime.monotonicMs() + SHARED_MS };
    answer.catch(() => {
      made = null;
    });
    return answer;
  };
}

function forbidden(): ProblemError {
  return new ProblemError(
    problem(
      "forbidden",
      "these figures count the work of all tenants, so where there are several they are for keys of operators alone; " +
        "GET /v1/stats has the figures of your own work",
    ),
  );
}
