import type { Runtime } from "../../ports/runtime.ts";
import { WELCOME_WITHIN_MS } from "./limits.ts";
import { type LinkTo, MeshLink } from "./mesh-link.ts";

/**
 * Connects in the same way as other nodes will.
 * @returns null: the right node answers; else a description of what answers instead, for people
 */
export function reach(link: LinkTo, runtime: Runtime): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const timer = runtime.setTimer(WELCOME_WITHIN_MS, () => end(`nobody answered within ${WELCOME_WITHIN_MS / 1_000} s`));
  const end = (found: string | null) => {
    timer.cancel();
    resolve(found);
    connection.close();
  };
  const connection = new MeshLink(link, {
    opened: () => end(null),
    drained: () => undefined,
    closed: (reason) => end(reason),
  });
  return promise;
}
