import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { finished } from "node:stream/promises";

/** Client of a stream of server-sent events. */
export class EventReader {
  readonly response: IncomingMessage;
  #text = "";

  private constructor(response: IncomingMessage) {
    this.response = response;
  }

  /** @param url address of the stream @param lastEventId the id of the last event that the client has seen */
  static async open(url: string, lastEventId?: string): Promise<EventReader> {
    const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const [response] = (await once(get(url, { headers }), "response")) as [IncomingMessage];
    return new EventReader(response);
  }

  /** Text that the stream has sent since the last call, as soon as it contains a match. */
  until(mark: RegExp): Promise<string> {
    const { response } = this;
    return new Promise((resolve) => {
      const look = (chunk = "") => {
        this.#text += chunk;
        if (!mark.test(this.#text)) return;
        response.off("data", look);
        response.pause();
        const text = this.#text;
        this.#text = "";
        resolve(text);
      };
      response.setEncoding("utf8").on("data", look);
      response.resume();
      look();
    });
  }

  /** Resolves when the server has ended the stream. */
  async end(): Promise<void> {
    const ended = finished(this.response);
    this.response.resume();
    await ended;
  }
}
