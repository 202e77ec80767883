import type { FastifyInstance, FastifyRequest } from "fastify";
import { busy } from "./errors.ts";

/** Bodies of all requests under way together. Without it every connection could hold a batch in memory. */
const BUDGET_BYTES = 256 * 1024 * 1024;
/** Smaller bodies are not counted: the number of connections bounds them. */
const SMALL_BYTES = 16 * 1024;

/** Turns large bodies away, before they are read, while others fill the memory that is meant for them. */
export function limitBodies(app: FastifyInstance, budgetBytes: number = BUDGET_BYTES): void {
  let reservedBytes = 0;
  app.addHook("onRequest", async (request, reply) => {
    const bytes = bytesToCome(request);
    if (bytes <= SMALL_BYTES) return;
    if (reservedBytes > 0 && reservedBytes + bytes > budgetBytes) {
      throw busy("too-many-requests", "other large requests fill the memory for bodies", 1);
    }
    reservedBytes += bytes;
    reply.raw.once("close", () => {
      reservedBytes -= bytes;
    });
  });
}

/** What it says, or as much as the route takes. */
function bytesToCome(request: FastifyRequest): number {
  const limit = request.routeOptions.bodyLimit;
  if (request.headers["transfer-encoding"] !== undefined) return limit;
  return Math.min(Number(request.headers["content-length"] ?? 0), limit);
}
