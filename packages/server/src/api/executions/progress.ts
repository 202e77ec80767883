import type { ExecutionId } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import type { Progress } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Inbox } from "../inbox.ts";

/** Longest wait for a gateway's answer, in milliseconds; progress is optional. */
const ASK_TIMEOUT_MS = 250;

/** Latest progress of a running attempt; null: it has reported none, or no gateway answers. */
export async function askProgress(
  { bus, inbox, runtime }: { bus: Bus; inbox: Inbox; runtime: Runtime },
  tenant: Tenant,
  executionId: ExecutionId,
  attempt: number,
): Promise<Progress | null> {
  const gateways = bus.nodes("gateway");
  const request = runtime.uuid();
  const answered = inbox.collect(request, gateways.length, ASK_TIMEOUT_MS);
  for (const node of gateways) {
    bus.send({ node, role: "gateway" }, { kind: "ASK_PROGRESS", request, executionId, tenant });
  }
  for (const answer of await answered) {
    if (answer.kind === "PROGRESS" && answer.progress?.attempt === attempt) return answer.progress;
  }
  return null;
}
