import type { Bus } from "../ports/bus.ts";
import type { CommandOutcome } from "../ports/messages.ts";
import type { Store } from "../ports/store.ts";
import type { AuditNote } from "../ports/store-audit.ts";
import type { Command } from "../ports/store-commands.ts";
import type { Inbox } from "./inbox.ts";

/**
 * Longest wait for an owner's answer to a command, in milliseconds. A slower owner finds the command in its inbox, and
 * the client gets the answer REQUESTED.
 */
const OUTCOME_TIMEOUT_MS = 1_000;

interface CommandsDependencies {
  store: Pick<Store, "addCommand">;
  bus: Bus;
  inbox: Inbox;
}

/** Sends commands to owners. The store gets each command first, so the owner finds it even if the message is lost. */
export class Commands {
  readonly #deps: CommandsDependencies;

  constructor(deps: CommandsDependencies) {
    this.#deps = deps;
  }

  /**
   * Stores a command, sends it to its owner, and waits for the outcome.
   * @param note fact for the audit log, in the transaction of the command
   * @returns outcome; null: the owner has not answered yet
   * @throws {StoreUnavailable} the command may or may not be applied
   */
  async give(command: Command, note?: AuditNote): Promise<CommandOutcome | null> {
    await this.#deps.store.addCommand(command, note);
    return this.tell(command);
  }

  /** Stores a command and sends it to its owner, without waiting for the outcome. @throws {StoreUnavailable} */
  async leave(command: Command, note?: AuditNote): Promise<void> {
    await this.#deps.store.addCommand(command, note);
    this.pass(command);
  }

  /**
   * Sends a stored command to its owner, and waits for the outcome. @returns outcome; null: the owner has not answered
   * yet
   */
  async tell(command: Command): Promise<CommandOutcome | null> {
    if (this.#deps.bus.ownerOf(command.shard) === null) return null;
    const answered = this.#deps.inbox.collect(command.id, 1, OUTCOME_TIMEOUT_MS);
    this.pass(command);
    const [answer] = await answered;
    return answer?.kind === "COMMAND_DONE" ? answer.outcome : null;
  }

  /** Sends a stored command to its owner, who finds it in the inbox if the message is lost. */
  pass(command: Command): void {
    const { bus } = this.#deps;
    const node = bus.ownerOf(command.shard);
    if (node !== null) bus.send({ node, role: "scheduler" }, { kind: "COMMAND", command });
  }
}
