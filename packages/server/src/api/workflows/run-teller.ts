import { isFinal } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { ExecutionView } from "../../ports/store-queries.ts";
import type { EventStream } from "../executions/event-stream.ts";
import type { Teller } from "../executions/stream-until-final.ts";
import { encodeRunEventId, type RunCursor } from "./run-event-id.ts";
import type { RunFollower } from "./run-followers.ts";
import { type RunPicture, shownMode } from "./run-picture.ts";
import { latestChange, ToldNodes } from "./told-nodes.ts";
import { workflowBody, workflowNode } from "./workflow-views.ts";

/**
 * Sends one client the events of its run: states of nodes, and the run itself when its state or mode changes,
 * or when it is paused or resumed. Only the
 * newest picture counts, so a client that reads slowly misses states that are over, and no memory fills up.
 *
 * Events of one picture have the id of the picture before, but for the last one. So a stream that breaks between them
 * begins again with the first of them.
 */
export class RunTeller implements RunFollower, Teller {
  readonly tenant: Tenant;
  readonly run: ExecutionId;
  told: Promise<void> = Promise.resolve();
  readonly #read: () => Promise<RunPicture | null>;
  readonly #toldNodes: ToldNodes;
  #cursor: RunCursor;
  #latest: RunPicture | null;
  #stream: EventStream | null = null;

  /** @param read reads the run as it is now */
  constructor(tenant: Tenant, first: RunPicture, seen: RunCursor, read: () => Promise<RunPicture | null>) {
    this.tenant = tenant;
    this.run = first.run.executionId;
    this.#read = read;
    this.#toldNodes = ToldNodes.until(first, seen);
    this.#cursor = seen;
    this.#latest = first;
  }

  begin(stream: EventStream): void {
    this.#stream = stream;
    this.#tellLater();
  }

  changed(picture: RunPicture): void {
    this.#latest = picture;
    this.#tellLater();
  }

  ended({ state }: ExecutionView): void {
    if (!isFinal(state)) return;
    this.told = this.told.then(async () => {
      // Without the store, the client reconnects, and gets the rest then.
      const picture = await this.#read().catch(() => null);
      if (picture !== null) await this.#tell(picture);
    });
  }

  #tellLater(): void {
    this.told = this.told.then(async () => {
      const picture = this.#latest;
      this.#latest = null;
      if (picture !== null) await this.#tell(picture);
    });
  }

  async #tell(picture: RunPicture): Promise<void> {
    const { state, paused } = picture.run;
    const mode = shownMode(picture.run);
    if (this.#cursor.state === null && !isFinal(state)) this.#tellRun(picture, this.#cursor.at);
    const isChanged = this.#cursor.state !== state || this.#cursor.mode !== mode || this.#cursor.paused !== paused;
    const nodes = this.#toldNodes.changes(picture);
    for (const [place, node] of nodes.entries()) {
      if (this.#stream?.isOpen !== true) return;
      if (place === nodes.length - 1 && !isChanged) this.#advance(picture);
      this.#stream.send("node", encodeRunEventId(this.#cursor), workflowNode(picture, node));
      this.#toldNodes.tell(picture, node);
      await this.#stream.drained();
    }
    if (isChanged) this.#tellRun(picture, latestChange(picture));
  }

  #tellRun(picture: RunPicture, at: number): void {
    const { state, paused } = picture.run;
    this.#cursor = { state, mode: shownMode(picture.run), paused, at: Math.max(at, this.#cursor.at) };
    this.#stream?.send("workflow", encodeRunEventId(this.#cursor), workflowBody(picture));
  }

  #advance(picture: RunPicture): void {
    this.#cursor = { ...this.#cursor, at: Math.max(latestChange(picture), this.#cursor.at) };
  }
}
