import type { Logger } from "pino";
import { FIRST_LEVEL } from "../../domain/cluster/feature-level.ts";
import type { Role } from "../../ports/bus.ts";
import type { NodeProfile } from "../../ports/leases.ts";
import { atEndOfTurn, type Runtime, type Timer } from "../../ports/runtime.ts";
import type { Turns } from "../../ports/turns.ts";
import { RETRY_FIRST_MS, RETRY_MAX_MS, WAITING_MAX_BYTES, WELCOME_WITHIN_MS } from "./limits.ts";
import { type LinkTo, MeshLink } from "./mesh-link.ts";
import { speaksTls } from "./mesh-tls.ts";
import { type Letter, packed } from "./packet.ts";
import { portions } from "./portions.ts";

/** Largest number of different reasons for which a peer cannot be reached that the log has until the peer can be. */
const REASONS_MAX = 5;

/** Number of dropped messages, over all peers. */
export interface Losses {
  messages: number;
}

interface Packet {
  bytes: Buffer;
  messages: number;
}

export interface PeerDependencies {
  link: LinkTo;
  losses: Losses;
  /** Turns of the event loop for large packets to all nodes. */
  turns: Turns;
  runtime: Runtime;
  log: Logger;
}

/** Another node, as the target of this node's messages. */
export class Peer {
  readonly #deps: PeerDependencies;
  #roles: readonly Role[] = [];
  #level = FIRST_LEVEL;
  #link: MeshLink | null = null;
  #isOpen = false;
  /**
   * Whether the connection was refused or reset and has not come back. A peer that is only silent does not count as
   * broken; its lease shows whether it lives.
   */
  #isBroken = false;
  /** Reasons that were logged since the connection was last open. */
  readonly #told = new Set<string>();
  #failures = 0;
  #timer: Timer | null = null;
  #isClosed = false;
  /** Letters of this turn, and of the time while earlier letters are packed. */
  #letters: Letter[] = [];
  #isPacking = false;
  #waiting: Packet[] = [];
  #waitingBytes = 0;
  /** Whether the end of the present link was asked for, so that the next one follows at once. */
  #isFinished = false;
  /** Called when the renewed connection is open or has failed; null: the connection is not being renewed. */
  #renewed: (() => void) | null = null;

  constructor(deps: PeerDependencies) {
    this.#deps = deps;
    this.#connect();
  }

  meet({ roles, level }: Pick<NodeProfile, "roles" | "level">): void {
    this.#roles = roles;
    this.#level = level;
  }

  /** Feature level of the node. */
  get level(): number {
    return this.#level;
  }

  /** Whether the peer has the role and is reachable, as far as this node knows. */
  canBe(role: Role): boolean {
    return !this.#isBroken && this.#roles.includes(role);
  }

  /** Whether the connection is open now, or is renewed after it was. */
  get isOpen(): boolean {
    return this.#isOpen || this.#renewed !== null;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  send(letter: Letter): void {
    if (this.#isBroken || this.#isClosed) return this.#lost(1);
    if (this.#letters.push(letter) > 1 || this.#isPacking) return;
    atEndOfTurn(this.#deps.runtime, () => void this.#leave());
  }

  /**
   * Ends an open connection to a node that speaks TLS once everything that was sent has arrived, and connects again, so that both
   * ends check the newest certificates. Messages of the meantime wait. Resolves when the connection is open again, or has failed.
   */
  async renew(): Promise<void> {
    const { link, runtime } = this.#deps;
    if (!this.#isOpen || !speaksTls(link.address)) return;
    const renewed = new Promise<void>((resolve) => {
      this.#renewed = resolve;
    });
    const former = this.#link;
    this.#isOpen = false;
    this.#isFinished = true;
    former?.finish();
    // A node that does not read ends its stream late.
    this.#timer = runtime.setTimer(WELCOME_WITHIN_MS, () => former?.close());
    await renewed;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#link?.close();
    this.#endRenewal();
  }

  /** Sends one packet at once, the others in later turns of the event loop. Later messages do not overtake them. */
  async #leave(): Promise<void> {
    this.#isPacking = true;
    while (this.#letters.length > 0) {
      const letters = this.#letters;
      this.#letters = [];
      for (const [index, portion] of portions(letters).entries()) {
        if (index > 0 && this.#deps.turns.isOver) await this.#deps.turns.next();
        if (this.#isBroken || this.#isClosed) this.#lost(portion.length);
        else this.#carry({ bytes: packed(portion), messages: portion.length });
      }
    }
    this.#isPacking = false;
  }

  #carry(packet: Packet): void {
    if (this.#isOpen && this.#waiting.length === 0 && !this.#link?.isCongested()) return this.#link?.send(packet.bytes);
    this.#waiting.push(packet);
    this.#waitingBytes += packet.bytes.length;
    while (this.#waitingBytes > WAITING_MAX_BYTES) this.#lost(this.#takeWaiting()?.messages ?? 0);
  }

  #takeWaiting(): Packet | undefined {
    const packet = this.#waiting.shift();
    this.#waitingBytes -= packet?.bytes.length ?? 0;
    return packet;
  }

  #lost(messages: number): void {
    this.#deps.losses.messages += messages;
  }

  #sendWaiting(): void {
    while (this.#isOpen && this.#link?.isCongested() === false) {
      const packet = this.#takeWaiting();
      if (packet === undefined) return;
      this.#link.send(packet.bytes);
    }
  }

  #connect(): void {
    const link = new MeshLink(this.#deps.link, {
      opened: () => this.#opened(),
      drained: () => this.#sendWaiting(),
      closed: (reason) => this.#closed(reason),
    });
    this.#link = link;
    this.#timer = this.#deps.runtime.setTimer(WELCOME_WITHIN_MS, () => {
      this.#timer = null;
      link.close();
    });
  }

  #endRenewal(): void {
    this.#renewed?.();
    this.#renewed = null;
  }

  #opened(): void {
    this.#timer?.cancel();
    this.#isOpen = true;
    this.#endRenewal();
    this.#isBroken = false;
    this.#told.clear();
    this.#failures = 0;
    this.#sendWaiting();
  }

  #closed(reason: string): void {
    const { log, runtime, link } = this.#deps;
    // The timer has fired, so no node has refused.
    const wasSilent = this.#timer === null && !this.#isOpen;
    this.#timer?.cancel();
    if (this.#isFinished && !this.#isClosed) {
      this.#isFinished = false;
      return this.#connect();
    }
    this.#endRenewal();
    this.#isOpen = false;
    this.#link = null;
    for (const { messages } of this.#waiting) this.#lost(messages);
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (this.#isClosed) return;
    if (!wasSilent) this.#isBroken = true;
    // A link that was cut may meet a reason that lasts, such as a certificate that has expired.
    if (!wasSilent && !this.#told.has(reason) && this.#told.size < REASONS_MAX) {
      this.#told.add(reason);
      log.warn({ node: link.to, address: link.address, reason }, "the mesh cannot reach another node");
    }
    const waitMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(this.#failures++, 10));
    this.#timer = runtime.setTimer(waitMs * (0.5 + runtime.random() / 2), () => this.#connect());
  }
}
