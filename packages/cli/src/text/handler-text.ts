import type { Handler, HandlerPolicies } from "@mainspring/sdk";
import { table } from "./output.ts";

/** Handlers for people, one a line. */
export function handlersText(handlers: readonly Handler[]): string {
  if (handlers.length === 0) return "no handlers: `mainspring worker` runs a worker that offers some";
  const rows = handlers.map(({ pool, handler, home, policies, workers, contradictions, lastSeenAt }) => [
    pool,
    handler,
    String(workers),
    home ? "yes" : "-",
    policiesText(policies),
    contradictions.map((other) => `${other.workers}: ${policiesText(other.policies)}`).join("; ") || "-",
    lastSeenAt ?? "-",
  ]);
  return table(["POOL", "HANDLER", "WORKERS", "HOME", "POLICIES", "DECLARED OTHERWISE", "LAST SEEN"], rows);
}

function policiesText(policies: HandlerPolicies): string {
  const told = Object.entries(policies).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return told.join(",") || "-";
}
