import { Heap, type HeapNode } from "../heap.ts";
import type { Lane, WorkClass } from "../queue/lanes.ts";
import { contend, goesBefore, keyOf, rest, type Share } from "./shares.ts";

/** A tenant in a work class. In a class of workflow runs, which take no slots, all tenants are one contender. */
export interface Contender {
  /** Share of the tenant; null: all tenants. */
  readonly share: Share | null;
  readonly work: WorkClass;
  /** Lanes with executions that may run, by the rank of their first execution. */
  readonly lanes: Heap<Lane>;
  laneCount: number;
  /** Whether the tenant's limit keeps it from running anything. */
  isBlocked: boolean;
  /** Position in the class; null: the tenant has no executions that may run. */
  node: HeapNode<Contender> | null;
}

export function newContender(work: WorkClass, share: Share | null): Contender {
  return { share, work, lanes: new Heap(), laneCount: 0, isBlocked: false, node: null };
}

/** Adds the contender to its class or removes it, after its lanes have changed. */
export function refreshContender(contender: Contender): void {
  const { work, share, lanes, isBlocked, node } = contender;
  if ((lanes.size > 0 && !isBlocked) === (node !== null)) return;
  if (node === null) {
    if (share === null) contender.node = work.contenders.push(0, "", contender);
    else {
      contender.node = work.contenders.push(keyOf(share), share.tenant, contender, share.time);
      contend(share, contender.node);
    }
  } else {
    work.contenders.remove(node);
    contender.node = null;
    if (share !== null) rest(share, node);
  }
}

/** Lane of the class whose first execution is next; undefined: none may run. */
export function firstLane({ contenders }: WorkClass): HeapNode<Lane> | undefined {
  return contenders.peek()?.item.lanes.peek();
}

/** Number of the contender's executions in memory that may run. */
export function readyOf({ lanes }: Contender): number {
  let ready = 0;
  for (const { item } of lanes.nodes()) ready += item.ready.size;
  return ready;
}

/** Rank of the contender's first execution. */
export function rankOf({ lanes }: Contender): number {
  return lanes.peek()?.key ?? Number.POSITIVE_INFINITY;
}

/**
 * Whether `a` goes before `b`, in two classes of one pool. Ranks order the work of one tenant only: a priority is no
 * precedence over other tenants.
 */
export function isBefore(a: Contender, b: Contender): boolean {
  if (a.share === b.share || a.share === null || b.share === null) return rankOf(a) < rankOf(b);
  return goesBefore(a.share, b.share);
}
