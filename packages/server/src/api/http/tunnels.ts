import type { IncomingMessage, ServerResponse } from "node:http";
import { lastWords } from "./error-answers.ts";
import { problem } from "./errors.ts";

/**
 * Creates requests that never become tunnels. Node detaches the connection of a CONNECT request from its HTTP server and
 * gives it no response; requests before it on the connection then do not notice when the connection closes. Node reads
 * `upgrade` to decide about this. With a constant `false`, CONNECT is a request like others: its answer waits for those
 * before it, and the limits of connections apply.
 */
export function withoutTunnels(base: typeof IncomingMessage): typeof IncomingMessage {
  return class extends base {
    get upgrade(): boolean {
      return false;
    }

    set upgrade(_: boolean | null) {
      // Node's parser sets it to true for CONNECT.
    }
  };
}

/**
 * Refuses a CONNECT request, and closes the connection, because Node has dropped the bytes that came with the request.
 * `Allow` is empty: no method would open a tunnel.
 */
export function refuseTunnel(response: ServerResponse): void {
  lastWords(response, problem("method-not-allowed", "the server opens no tunnels: it has no CONNECT"), { allow: "" });
}
