import { ProblemBody } from "@mainspring/contract";
import type { TSchema } from "typebox";
import { type ProblemName, problem } from "./errors.ts";

/** Describes a route's errors, together with the problems that every route may answer with. */
export function problems(...names: ProblemName[]): Record<number, unknown> {
  const answers: Record<number, unknown> = {};
  for (const name of [...names, ...EVERYWHERE]) {
    const { status, title } = problem(name);
    answers[status] = {
      description: title,
      content: { "application/problem+json": { schema: ProblemBody } },
    };
  }
  return answers;
}

const EVERYWHERE: ProblemName[] = [
  "invalid-request",
  "unauthorized",
  "forbidden",
  "too-many-requests",
  "headers-too-large",
  "unavailable",
];

/** An answer with a sentence of its own; the description of the schema stays unchanged. */
export function answer<T extends TSchema>(schema: T, sentence: string): T {
  return { ...schema, "x-response-description": sentence };
}
