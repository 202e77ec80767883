import { Feature, type Hello } from "@mainspring/proto";
import type { PolicyKeeper, ReadPolicies } from "../../ports/handler-policies.ts";
import type { DeclaredHandler } from "../../ports/store-handlers.ts";
import { POLICIES_MAX_BYTES } from "../limits.ts";

/** Policies of the handlers of a hello; the greatest of all handlers. */
export type Declarations = readonly Omit<DeclaredHandler, "pool">[];

const NONE: Omit<ReadPolicies, "unknown"> = { isHome: false, policies: "{}" };

/**
 * Reads what the tasks of a worker declare.
 * @param keeper null: this gateway keeps no policies
 * @returns the fault; null: the worker's SDK declares nothing
 */
export function readDeclarations(hello: Hello, keeper: PolicyKeeper | null): Declarations | string | null {
  if (keeper === null || (hello.features & Feature.POLICIES) === 0) return null;
  const bytes = hello.policies.reduce((sum, { policies }) => sum + policies.length, 0);
  if (bytes > POLICIES_MAX_BYTES)
    return `policies: at most ${POLICIES_MAX_BYTES} bytes are allowed in all, not ${bytes}: declare less, or start several workers`;
  const read = new Map<string, Omit<ReadPolicies, "unknown">>();
  const handlers = new Set(hello.handlers);
  for (const { handler, policies } of hello.policies) {
    if (!handlers.delete(handler))
      return `policies: ${JSON.stringify(handler)} is none of the handlers, or is named twice`;
    const one = keeper.read(hello.pool, handler, policies);
    if ("fault" in one) return `policies: ${one.fault}`;
    read.set(handler, one);
  }
  const isNews = !hello.returning;
  return [...new Set(hello.handlers)].map((handler) => {
    const { isHome, policies } = read.get(handler) ?? NONE;
    return { handler, isHome, policies, isNews };
  });
}
