import type { ExecutionId, Incarnation } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { Chatter, Progress } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Heard } from "./chatter.ts";
import {
  FOLLOW_LAPSES_MS,
  FOLLOWED_MAX,
  TALK_ALL_MAX_CHARS,
  TALK_KEPT_MS,
  TALK_MAX_CHARS,
  TALK_MAX_ITEMS,
} from "./limits.ts";

/** Approximate cost of an entry for an execution, in characters. */
const SAID_CHARS = 300;

/** Recent output of one execution. */
interface Said {
  lines: Chatter[];
  chars: number;
  progress: Progress | null;
  lastSeq: number;
  heardAtMs: number;
}

/**
 * Output of handlers while they run: the latest progress, the last lines, and the subscribers. All of it is bounded; none
 * of it is the truth.
 */
export class Talk {
  readonly #bus: Bus;
  readonly #runtime: Runtime;
  /** The longest silent first. */
  readonly #said = new Map<ExecutionId, Said>();
  #chars = 0;
  readonly #followers = new Map<ExecutionId, Map<Incarnation, number>>();
  #outgoing = new Map<Incarnation, Chatter[]>();

  constructor(bus: Bus, runtime: Runtime) {
    this.#bus = bus;
    this.#runtime = runtime;
  }

  hear(heard: Heard): void {
    const said = this.#saidOf(heard.executionId);
    // Numbers start at the time of day, so that a gateway that takes the worker over continues from there.
    said.lastSeq = Math.max(said.lastSeq + 1, heard.at);
    const item: Chatter = { ...heard, seq: said.lastSeq };
    if (item.kind === "LOG") this.#keep(said, item);
    else {
      this.#count(said, sizeOf(item) - (said.progress === null ? 0 : sizeOf(said.progress)));
      said.progress = item;
    }
    this.#makeRoom();
    for (const node of this.#followers.get(item.executionId)?.keys() ?? []) this.#send(node, item);
  }

  progressOf(executionId: ExecutionId): Progress | null {
    return this.#said.get(executionId)?.progress ?? null;
  }

  follow(node: Incarnation, follows: readonly { executionId: ExecutionId; after: number }[]): void {
    const nowMs = this.#runtime.monotonicMs();
    for (const { executionId, after } of follows) {
      let nodes = this.#followers.get(executionId);
      if (nodes === undefined) {
        if (this.#followers.size >= FOLLOWED_MAX) return;
        this.#followers.set(executionId, (nodes = new Map()));
      }
      nodes.set(node, nowMs);
      for (const item of this.#since(executionId, after)) this.#send(node, item);
    }
  }

  unfollow(node: Incarnation, executionIds: readonly ExecutionId[]): void {
    for (const executionId of executionIds) {
      const nodes = this.#followers.get(executionId);
      if (nodes?.delete(node) && nodes.size === 0) this.#followers.delete(executionId);
    }
  }

  /** To be called every second or so. */
  forgetSilent(): void {
    const nowMs = this.#runtime.monotonicMs();
    for (const [executionId, nodes] of this.#followers) {
      for (const [node, saidAtMs] of nodes) if (nowMs - saidAtMs > FOLLOW_LAPSES_MS) nodes.delete(node);
      if (nodes.size === 0) this.#followers.delete(executionId);
    }
    for (const [executionId, { heardAtMs }] of this.#said) {
      if (nowMs - heardAtMs <= TALK_KEPT_MS) return;
      this.#forget(executionId);
    }
  }

  /** Sends what has been gathered. */
  flush(): void {
    if (this.#outgoing.size === 0) return;
    const outgoing = this.#outgoing;
    this.#outgoing = new Map();
    for (const [node, items] of outgoing) this.#bus.send({ node, role: "api" }, { kind: "CHATTER", items });
  }

  #saidOf(executionId: ExecutionId): Said {
    const known = this.#said.get(executionId);
    const said: Said = known ?? { lines: [], chars: 0, progress: null, lastSeq: 0, heardAtMs: 0 };
    if (known === undefined) this.#count(said, SAID_CHARS);
    said.heardAtMs = this.#runtime.monotonicMs();
    // To the end of the line of those that may be forgotten.
    this.#said.delete(executionId);
    this.#said.set(executionId, said);
    return said;
  }

  #keep(said: Said, item: Chatter): void {
    said.lines.push(item);
    this.#count(said, sizeOf(item));
    let dropped = 0;
    while (dropped < said.lines.length) {
      if (said.lines.length - dropped <= TALK_MAX_ITEMS && said.chars <= TALK_MAX_CHARS) break;
      this.#count(said, -sizeOf(said.lines[dropped] as Chatter));
      dropped++;
    }
    if (dropped > 0) said.lines.splice(0, dropped);
  }

  #count(said: Said, chars: number): void {
    said.chars += chars;
    this.#chars += chars;
  }

  #makeRoom(): void {
    for (const executionId of this.#said.keys()) {
      if (this.#chars <= TALK_ALL_MAX_CHARS) return;
      this.#forget(executionId);
    }
  }

  #forget(executionId: ExecutionId): void {
    this.#chars -= this.#said.get(executionId)?.chars ?? 0;
    this.#said.delete(executionId);
  }

  #since(executionId: ExecutionId, after: number): Chatter[] {
    const said = this.#said.get(executionId);
    if (said === undefined || said.lastSeq <= after) return [];
    const all = said.progress === null ? said.lines : [...said.lines, said.progress];
    return all.filter(({ seq }) => seq > after).sort((a, b) => a.seq - b.seq);
  }

  #send(node: Incarnation, item: Chatter): void {
    const items = this.#outgoing.get(node);
    if (items === undefined) this.#outgoing.set(node, [item]);
    else items.push(item);
  }
}

/** With what an entry costs beside its text, about. */
function sizeOf(item: Chatter): number {
  return 100 + (item.kind === "LOG" ? item.line.length : item.message.length);
}
