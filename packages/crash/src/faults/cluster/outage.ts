import { monotonicMs } from "../../clock.ts";
import type { ClusterWorld, Node } from "../world.ts";

const PATIENCE_MS = 30_000;

/** Sends a list request to every API while the store is down, without the proxies, and records the answers. */
export async function askWhileDown(world: ClusterWorld): Promise<void> {
  await Promise.all(world.nodes.map((node) => ask(world, node)));
}

async function ask({ history, say }: ClusterWorld, { server }: Node): Promise<void> {
  const at = monotonicMs();
  const answer = await fetch(`${server.httpUrl}/v1/executions?limit=1`, {
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).catch(() => null);
  await answer?.arrayBuffer().catch(() => undefined);
  const { status, retryAfter } = {
    status: answer?.status ?? null,
    retryAfter: answer?.headers.get("retry-after") ?? null,
  };
  const tookMs = monotonicMs() - at;
  history.write({ event: "OUTAGE_TOLD", at, pid: server.pid, status, retryAfter, tookMs });
  say(`the api of process ${server.pid} answers ${status} after ${Math.round(tookMs)} ms`);
}
