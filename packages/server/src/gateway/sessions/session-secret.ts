import { type Hello, isSecretWorkerId, workerIdOf } from "@mainspring/proto";
import { isBuiltin } from "../../engine/workers/builtin-id.ts";
import type { Refusal } from "../connections/hello.ts";

/**
 * Detects a hello that uses the id of another worker. Everybody with access to the API can read worker ids. The id of a
 * worker with a secret is derived from the secret, so every gateway can check it without earlier knowledge of the
 * worker. An SDK of the release before has no secret, and an id of another kind.
 * @param isInner whether the worker runs in this process
 * @returns null: the hello is genuine
 */
export function impostureOf({ workerId, secret }: Hello, isInner: boolean): Refusal | null {
  if (isInner) return null;
  if (isBuiltin(workerId)) return denied("ids of this kind belong to workers within a server: choose a UUID");
  if (!isSecretWorkerId(workerId)) return null;
  if (workerIdOf(secret) === workerId) return null;
  return denied(
    secret === ""
      ? "this id was derived from a secret, and the hello has none: send the secret, or choose a UUID of version 4"
      : "this id was not derived from the secret of the hello: send the secret that it was derived from",
  );
}

function denied(detail: string): Refusal {
  return { code: "PERMISSION_DENIED", detail: `worker_id: ${detail}` };
}
