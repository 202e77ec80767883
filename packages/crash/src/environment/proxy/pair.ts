import { connect, type Socket } from "node:net";
import { Lane } from "./lane.ts";
import type { Direction, LinkFault, Target } from "./link-fault.ts";

/** State of the link that a connection needs. */
export interface Sky {
  readonly linkFault: LinkFault;
  /** Called when the fault has hit a connection. */
  hit(): void;
}

/** A connection through a proxy: one socket to the client, one to the server. */
export class Pair {
  readonly #sky: Sky;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #lanes: Record<Direction, Lane>;
  /** Whether one end is gone and the other must not notice. */
  #isDeaf = false;
  #isReset = false;
  #cutAfterBytes = Number.POSITIVE_INFINITY;
  #swallows = false;
  #wasAsked = false;

  /** @param over called once, when both sockets are closed */
  constructor(client: Socket, target: Target, sky: Sky, over: () => void) {
    this.#sky = sky;
    this.#client = client;
    this.#server = connect({ ...target, allowHalfOpen: true });
    const reset = () => this.reset();
    this.#lanes = {
      TO_SERVER: new Lane(client, this.#server, reset),
      TO_CLIENT: new Lane(this.#server, client, reset),
    };
    this.#listen(client, "TO_SERVER");
    this.#listen(this.#server, "TO_CLIENT");
    const both = () => {
      if (client.destroyed && this.#server.destroyed) over();
    };
    for (const socket of [client, this.#server]) socket.once("close", both);
    this.#hold(sky.linkFault);
    if (sky.linkFault.kind === "HALF_OPEN") this.#halve(sky.linkFault.survivor);
  }

  /** Called when the fault has changed. */
  changed(linkFault: LinkFault): void {
    // The survivor still believes that the connection is open; the proxy resets it now.
    if (this.#isDeaf) return this.reset();
    this.#cutAfterBytes = linkFault.kind === "CUT" ? linkFault.afterBytes : Number.POSITIVE_INFINITY;
    this.#swallows = linkFault.kind === "REPLY_SWALLOWED";
    this.#wasAsked = false;
    if (linkFault.kind === "HALF_OPEN") return this.#halve(linkFault.survivor);
    this.#hold(linkFault);
  }

  reset(): void {
    // A second reset would meet the socket during the first one, and leave it open for ever.
    if (this.#isReset) return;
    this.#isReset = true;
    for (const lane of Object.values(this.#lanes)) lane.close();
    abort(this.#client);
    abort(this.#server);
  }

  #listen(socket: Socket, direction: Direction): void {
    socket.on("data", (bytes) => this.#arrived(bytes, direction));
    socket.on("end", () => this.#closed("END", direction));
    socket.on("error", () => this.#closed("RESET", direction));
    socket.on("close", () => this.#closed("RESET", direction));
  }

  #arrived(bytes: Buffer, direction: Direction): void {
    if (this.#isDeaf) return;
    if (this.#swallows && direction === "TO_SERVER") this.#wasAsked = true;
    if (this.#swallows && direction === "TO_CLIENT" && this.#wasAsked) return this.#strike();
    this.#cutAfterBytes -= bytes.length;
    if (this.#cutAfterBytes < 0) return this.#cut(bytes.subarray(0, this.#cutAfterBytes), direction);
    const { linkFault } = this.#sky;
    if (linkFault.kind === "DELAYED" || (linkFault.kind === "DROPPED" && linkFault.directions.includes(direction))) {
      this.#sky.hit();
    }
    this.#carry(bytes, direction);
  }

  /** Handles the end of one direction: the other end is told, and the other direction may go on. */
  #closed(how: "END" | "RESET", direction: Direction): void {
    if (this.#isDeaf) return;
    const to = direction === "TO_SERVER" ? this.#server : this.#client;
    // Both ends have said goodbye, so there is nothing to reset.
    if (how === "RESET" && to.writableEnded) return;
    this.#carry(how, direction);
  }

  #carry(cargo: Buffer | "END" | "RESET", direction: Direction): void {
    const { linkFault } = this.#sky;
    this.#lanes[direction].carry(cargo, linkFault.kind === "DELAYED" ? linkFault.delayMs : 0);
  }

  #cut(beginning: Buffer, direction: Direction): void {
    const to = direction === "TO_SERVER" ? this.#server : this.#client;
    to.write(beginning, () => this.#strike());
    this.#isDeaf = true;
  }

  #strike(): void {
    this.#sky.hit();
    this.reset();
  }

  #halve(survivor: "CLIENT" | "SERVER"): void {
    this.#isDeaf = true;
    this.#sky.hit();
    abort(survivor === "CLIENT" ? this.#server : this.#client);
  }

  #hold(linkFault: LinkFault): void {
    const dropped = linkFault.kind === "DROPPED" ? linkFault.directions : [];
    for (const direction of ["TO_SERVER", "TO_CLIENT"] as const) {
      this.#lanes[direction].held = dropped.includes(direction);
    }
  }
}

function abort(socket: Socket): void {
  // Node loses the handle of a socket that it resets during its shutdown: the socket stays open, and the process cannot
  // end.
  const isShuttingDown = socket.writableEnded && !socket.writableFinished;
  // A socket of a file knows no reset, and a reset would wait for a peer that does not read.
  if (socket.remoteAddress === undefined || socket.writableLength > 0 || isShuttingDown) socket.destroy();
  else socket.resetAndDestroy();
}
