import type { Handler, HandlerFilter } from "./handler-types.ts";
import type { Requests } from "./requests.ts";

/** Handlers that workers offer, and what their tasks declare for jobs. Every method throws `MainspringError`. */
export class Handlers {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** All handlers in the order of pool and name, read page by page. */
  list(filter: HandlerFilter = {}): AsyncGenerator<Handler, void, undefined> {
    return this.#requests.pages("/v1/handlers", filter);
  }
}
