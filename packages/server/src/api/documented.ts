import { ProblemBody } from "@mainspring/contract";
import type { TSchema } from "typebox";
import { type ProblemName, problem } from "./errors.ts";
import type { HttpApp } from "./http-app.ts";

/** Makes the schema of errors known once, for all routes to refer to. */
export function addProblemSchema(app: HttpApp): void {
  app.addSchema({ ...ProblemBody, $id: "Problem" });
}

/** How a route's errors are documented. Adds the problems that every route may answer with. */
export function problems(...names: ProblemName[]): Record<number, unknown> {
  const answers: Record<number, unknown> = {};
  for (const name of [...names, ...EVERYWHERE]) {
    const { status, title } = problem(name);
    answers[status] = {
      description: title,
      content: { "application/problem+json": { schema: { $ref: "Problem#" } } },
    };
  }
  return answers;
}

const EVERYWHERE: ProblemName[] = ["invalid-request", "unauthorized", "forbidden", "too-many-requests", "unavailable"];

/** An answer with a sentence of its own. */
export function answer<T extends TSchema>(schema: T, description: string): T {
  return { ...schema, description };
}
