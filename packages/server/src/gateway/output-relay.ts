import type { ExecutionId, Incarnation } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { HandlerOutput, Progress } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { UnnumberedOutput } from "./handler-output.ts";
import {
  FOLLOW_LAPSES_MS,
  FOLLOWED_MAX,
  OUTPUT_ALL_MAX_CHARS,
  OUTPUT_KEPT_MS,
  OUTPUT_MAX_CHARS,
  OUTPUT_MAX_ITEMS,
} from "./limits.ts";

/** Approximate memory of an execution's entry, counted in characters. */
const ENTRY_CHARS = 300;

/** An execution with its tenant, as a follower names it. */
interface Followed {
  executionId: ExecutionId;
  after: number;
  /** Left out: the follower gets the output of workers that serve all tenants, and no other. */
  tenant?: string;
}

interface Follower {
  followedAtMs: number;
  tenant: string | undefined;
}

/**
 * Recent output of one execution, apart for each tenant that owns a worker's pool: a worker can name any execution, and its owner
 * refuses the ones that the worker does not have only later.
 */
interface ExecutionOutput {
  lines: HandlerOutput[];
  chars: number;
  progress: Progress | null;
  lastSeq: number;
  heardAtMs: number;
}

/**
 * Recent output of running handlers: the latest progress and the last lines of each execution, and the nodes that
 * follow it. All of it is bounded and may be lost.
 */
export class OutputRelay {
  readonly #bus: Bus;
  readonly #runtime: Runtime;
  /** Output by execution and tenant, in order of the last item, the oldest first. */
  readonly #byExecution = new Map<string, ExecutionOutput>();
  #chars = 0;
  readonly #followers = new Map<ExecutionId, Map<Incarnation, Follower>>();
  #outgoing = new Map<Incarnation, HandlerOutput[]>();

  constructor(bus: Bus, runtime: Runtime) {
    this.#bus = bus;
    this.#runtime = runtime;
  }

  add(unnumbered: UnnumberedOutput): void {
    const output = this.#outputOf(keyOf(unnumbered.executionId, unnumbered.tenant));
    // Numbers start at the time of day, so that a gateway that takes the worker over continues from there.
    output.lastSeq = Math.max(output.lastSeq + 1, unnumbered.at);
    const item: HandlerOutput = { ...unnumbered, seq: output.lastSeq };
    if (item.kind === "LOG") this.#keep(output, item);
    else {
      this.#count(output, sizeOf(item) - (output.progress === null ? 0 : sizeOf(output.progress)));
      output.progress = item;
    }
    this.#makeRoom();
    for (const [node, { tenant }] of this.#followers.get(item.executionId) ?? []) {
      if (item.tenant === undefined || item.tenant === tenant) this.#send(node, item);
    }
  }

  /** @param tenant of the execution; undefined: only workers that serve all tenants count */
  progressOf(executionId: ExecutionId, tenant?: string): Progress | null {
    const found = this.#outputsOf(executionId, tenant).flatMap(({ progress }) => progress ?? []);
    return found.sort((a, b) => b.seq - a.seq)[0] ?? null;
  }

  follow(node: Incarnation, follows: readonly Followed[]): void {
    const followedAtMs = this.#runtime.monotonicMs();
    for (const { executionId, after, tenant } of follows) {
      let nodes = this.#followers.get(executionId);
      if (nodes === undefined) {
        if (this.#followers.size >= FOLLOWED_MAX) return;
        this.#followers.set(executionId, (nodes = new Map()));
      }
      nodes.set(node, { followedAtMs, tenant });
      for (const item of this.#since(executionId, after, tenant)) this.#send(node, item);
    }
  }

  unfollow(node: Incarnation, executionIds: readonly ExecutionId[]): void {
    for (const executionId of executionIds) {
      const nodes = this.#followers.get(executionId);
      if (nodes?.delete(node) && nodes.size === 0) this.#followers.delete(executionId);
    }
  }

  /**
   * Removes followers whose subscription has expired, and the output of executions that have been silent for long. The
   * gateway calls it about once a second.
   */
  forgetSilent(): void {
    const nowMs = this.#runtime.monotonicMs();
    for (const [executionId, nodes] of this.#followers) {
      for (const [node, { followedAtMs }] of nodes) if (nowMs - followedAtMs > FOLLOW_LAPSES_MS) nodes.delete(node);
      if (nodes.size === 0) this.#followers.delete(executionId);
    }
    for (const [key, { heardAtMs }] of this.#byExecution) {
      if (nowMs - heardAtMs <= OUTPUT_KEPT_MS) return;
      this.#forget(key);
    }
  }

  /** Sends what has been gathered. */
  flush(): void {
    if (this.#outgoing.size === 0) return;
    const outgoing = this.#outgoing;
    this.#outgoing = new Map();
    for (const [node, items] of outgoing) this.#bus.send({ node, role: "api" }, { kind: "CHATTER", items });
  }

  /** Output of an execution by workers that serve all tenants, and by those of its own tenant. */
  #outputsOf(executionId: ExecutionId, tenant: string | undefined): ExecutionOutput[] {
    const keys = tenant === undefined ? [executionId] : [executionId, keyOf(executionId, tenant)];
    return keys.flatMap((key) => this.#byExecution.get(key) ?? []);
  }

  #outputOf(key: string): ExecutionOutput {
    const known = this.#byExecution.get(key);
    const output: ExecutionOutput = known ?? { lines: [], chars: 0, progress: null, lastSeq: 0, heardAtMs: 0 };
    if (known === undefined) this.#count(output, ENTRY_CHARS);
    output.heardAtMs = this.#runtime.monotonicMs();
    // The execution moves to the end of the Map, so that it is the last to be removed.
    this.#byExecution.delete(key);
    this.#byExecution.set(key, output);
    return output;
  }

  #keep(output: ExecutionOutput, item: HandlerOutput): void {
    output.lines.push(item);
    this.#count(output, sizeOf(item));
    let dropped = 0;
    while (dropped < output.lines.length) {
      if (output.lines.length - dropped <= OUTPUT_MAX_ITEMS && output.chars <= OUTPUT_MAX_CHARS) break;
      this.#count(output, -sizeOf(output.lines[dropped] as HandlerOutput));
      dropped++;
    }
    if (dropped > 0) output.lines.splice(0, dropped);
  }

  #count(output: ExecutionOutput, chars: number): void {
    output.chars += chars;
    this.#chars += chars;
  }

  #makeRoom(): void {
    for (const key of this.#byExecution.keys()) {
      if (this.#chars <= OUTPUT_ALL_MAX_CHARS) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#chars -= this.#byExecution.get(key)?.chars ?? 0;
    this.#byExecution.delete(key);
  }

  #since(executionId: ExecutionId, after: number, tenant: string | undefined): HandlerOutput[] {
    const newer = this.#outputsOf(executionId, tenant).filter(({ lastSeq }) => lastSeq > after);
    const all = newer.flatMap(({ lines, progress }) => (progress === null ? lines : [...lines, progress]));
    return all.filter(({ seq }) => seq > after).sort((a, b) => a.seq - b.seq);
  }

  #send(node: Incarnation, item: HandlerOutput): void {
    const items = this.#outgoing.get(node);
    if (items === undefined) this.#outgoing.set(node, [item]);
    else items.push(item);
  }
}

function keyOf(executionId: ExecutionId, tenant: string | undefined): string {
  return tenant === undefined ? executionId : `${executionId} ${tenant}`;
}

/** Approximate memory of an item in characters, with a surcharge for the fields beside its text. */
function sizeOf(item: HandlerOutput): number {
  return 100 + (item.kind === "LOG" ? item.line.length : item.message.length);
}
