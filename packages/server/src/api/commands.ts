import type { Bus } from "../ports/bus.ts";
import type { CommandOutcome } from "../ports/messages.ts";
import type { Command, Store } from "../ports/store.ts";
import type { Inbox } from "./inbox.ts";

/** An owner that is slower finds the command in its inbox; the client is told that it was requested. */
const OUTCOME_TIMEOUT_MS = 1_000;

interface CommandsParts {
  store: Pick<Store, "addCommand">;
  bus: Bus;
  inbox: Inbox;
}

/** Commands on their way to owners. Durable first: whatever becomes of the message, the owner finds the command. */
export class Commands {
  readonly #parts: CommandsParts;

  constructor(parts: CommandsParts) {
    this.#parts = parts;
  }

  /**
   * @returns null: no answer yet
   * @throws {StoreUnavailable} it may or may not be obeyed
   */
  async give(command: Command): Promise<CommandOutcome | null> {
    await this.#parts.store.addCommand(command);
    return this.tell(command);
  }

  /** Tells the owner of a command that is in the store, and waits for the outcome. @returns null: no answer yet */
  async tell(command: Command): Promise<CommandOutcome | null> {
    const { bus, inbox } = this.#parts;
    const node = bus.ownerOf(command.shard);
    if (node === null) return null;
    const answered = inbox.collect(command.id, 1, OUTCOME_TIMEOUT_MS);
    bus.send({ node, role: "scheduler" }, { kind: "COMMAND", command });
    const [answer] = await answered;
    return answer?.kind === "COMMAND_DONE" ? answer.outcome : null;
  }
}
