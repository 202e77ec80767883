import type { Api } from "./local-server.ts";

/** A run of a workflow is an execution, too. */
const WAIT = /^[/]v1[/](?:executions|workflows)[/]([^/?]+)[?]waitSec=/;

export interface Wait {
  executionId: string;
  answer: Promise<unknown>;
}

/**
 * A `fetch` that calls the API directly, without a network.
 * @param waits called for requests that the server answers once an execution is final; resolves with null when that
 * answer may come, or with another answer to give instead
 */
export function localFetch(api: Api, waits: (wait: Wait) => Promise<Response | null>): typeof fetch {
  return async (input, init = {}) => {
    const { pathname, search } = new URL(String(input));
    const { method = "GET", headers, body, signal } = init;
    signal?.throwIfAborted();
    const answering = api.inject({
      method: method as "GET",
      url: pathname + search,
      headers: { ...(headers as Record<string, string>), host: "localhost" },
      ...(typeof body === "string" && { payload: body }),
    });
    const answer = Promise.race([answering, ...(signal ? [aborted(signal)] : [])]);
    // The caller ignores every later answer.
    answer.catch(() => undefined);
    const waitsFor = WAIT.exec(pathname + search)?.[1];
    if (waitsFor !== undefined) {
      const instead = await waits({ executionId: waitsFor, answer });
      if (instead !== null) return instead;
    }
    const { statusCode, headers: answered, payload } = await answer;
    const type = answered["content-type"];
    const retryAfter = answered["retry-after"];
    return new Response(statusCode === 204 ? null : payload, {
      status: statusCode,
      headers: {
        ...(type && { "content-type": String(type) }),
        ...(retryAfter && { "retry-after": String(retryAfter) }),
      },
    });
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
