import type { ExecutionId } from "../../domain/ids.ts";
import { type KeptLine, lastLines } from "../../domain/log-lines.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { LogPart, StoreLogs } from "../../ports/store-logs.ts";
import type { Lacking } from "../feature-gate.ts";
import type { Inbox } from "../inbox.ts";

/** Longest wait for the answers of the owner, and then of gateways, in ms; after that the answer has what the store has. */
export const ASK_TIMEOUT_MS = 2_000;

export interface LogReads {
  store: { readonly logs: Pick<StoreLogs, "read"> };
  bus: Bus;
  inbox: Inbox;
  runtime: Runtime;
  lacking?: Lacking | undefined;
}

/**
 * The last lines of an attempt: those of the store, and those that gateways have not written yet.
 * @throws {StoreUnavailable}
 */
export async function readLogs(
  reads: LogReads,
  tenant: Tenant,
  executionId: ExecutionId,
  attempt: number,
): Promise<{ lines: readonly KeptLine[]; droppedLines: number }> {
  // Gateways forget lines once the store has them, so the store is read after their answers.
  const live = await askGateways(reads, tenant, executionId, attempt);
  const parts = new Map<number, LogPart>();
  for (const part of [...(await reads.store.logs.read(executionId, attempt)), ...live]) {
    if (part.received > (parts.get(part.part)?.received ?? 0)) parts.set(part.part, part);
  }
  const inOrder = [...parts.values()].sort((a, b) => a.part - b.part);
  const lines = lastLines(inOrder.flatMap((part) => part.lines));
  const received = inOrder.reduce((sum, part) => sum + part.received, 0);
  return { lines, droppedLines: received - lines.length };
}

async function askGateways(
  { bus, inbox, runtime, lacking }: LogReads,
  tenant: Tenant,
  executionId: ExecutionId,
  attempt: number,
): Promise<LogPart[]> {
  if ((lacking?.("LOG_LINES") ?? null) !== null) return [];
  const gateways = bus.nodes("gateway");
  const request = runtime.uuid();
  const answered = inbox.collect(request, gateways.length, ASK_TIMEOUT_MS);
  for (const node of gateways) {
    bus.send({ node, role: "gateway" }, { kind: "ASK_LOGS", request, executionId, attempt, tenant });
  }
  const parts: LogPart[] = [];
  for (const answer of await answered) if (answer.kind === "LOGS" && answer.part !== null) parts.push(answer.part);
  return parts;
}
