import type { ExecutionId, Incarnation } from "../domain/ids.ts";
import type { Bus, Envelope } from "../ports/bus.ts";
import type { HandlerOutput, ToApi } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";

type Final = Extract<ToApi, { kind: "FINAL" }>;
type OutputMessage = Extract<ToApi, { kind: "CHATTER" }>;
type Answer = Exclude<ToApi, Final | OutputMessage | { kind: "OWNER" | "EVENTS_WRITTEN" | "KEYS_CHANGED" }>;

interface Question {
  answers: Map<Incarnation, Answer>;
  wanted: number;
  done(): void;
}

/** Messages that answer no question. */
export interface InboxEvents {
  /** Called when a watched execution is final. */
  final(executionId: ExecutionId): void;
  /** Called with progress and log lines of executions that clients follow. */
  output(items: readonly HandlerOutput[]): void;
  /** Called when an owner has written lifecycle events. */
  written(): void;
  /** Called when a node has changed an API key. */
  keysChanged?(): void;
}

/** Receives the messages of other roles to the API, and brings answers to the callers that asked. */
export class Inbox {
  readonly #runtime: Runtime;
  readonly #questions = new Map<string, Question>();
  readonly #unlisten: () => void;
  readonly #events: InboxEvents;

  constructor(bus: Bus, runtime: Runtime, events: InboxEvents) {
    this.#runtime = runtime;
    this.#events = events;
    this.#unlisten = bus.listen("api", (envelopes) => envelopes.forEach((envelope) => this.#take(envelope)));
  }

  /**
   * Waits for answers to a question that the caller sends right after this call.
   * @param id id that the answers carry: of a request or a command
   * @param wanted number of nodes that were asked
   * @returns answers that have come when all nodes have answered or the time is up; the bus may lose any of them
   */
  async collect(id: string, wanted: number, timeoutMs: number): Promise<Answer[]> {
    return [...(await this.collectBySender(id, wanted, timeoutMs)).values()];
  }

  /** The same, by the node that answered. */
  collectBySender(id: string, wanted: number, timeoutMs: number): Promise<ReadonlyMap<Incarnation, Answer>> {
    if (wanted === 0) return Promise.resolve(new Map());
    return new Promise((resolve) => {
      const answers = new Map<Incarnation, Answer>();
      const timer = this.#runtime.setTimer(timeoutMs, () => done());
      const done = () => {
        timer.cancel();
        this.#questions.delete(id);
        resolve(answers);
      };
      this.#questions.set(id, { answers, wanted, done });
    });
  }

  close(): void {
    this.#unlisten();
    for (const question of [...this.#questions.values()]) question.done();
  }

  #take({ from, message }: Envelope<ToApi>): void {
    if (message.kind === "FINAL") return this.#events.final(message.executionId);
    if (message.kind === "CHATTER") return this.#events.output(message.items);
    if (message.kind === "EVENTS_WRITTEN") return this.#events.written();
    if (message.kind === "KEYS_CHANGED") return this.#events.keysChanged?.();
    // The bus handles this message itself.
    if (message.kind === "OWNER") return;
    const question = this.#questions.get(message.kind === "COMMAND_DONE" ? message.commandId : message.request);
    question?.answers.set(from, message);
    if (question !== undefined && question.answers.size >= question.wanted) question.done();
  }
}
