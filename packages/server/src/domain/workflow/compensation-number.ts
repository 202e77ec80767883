import type { StoredNode, StoredWork } from "./definition.ts";

/**
 * Number of the compensation of node 0. The compensation of a node has a number of its own in rows, payloads and ids: that of
 * the node plus this one, which is larger than any number of a node. The numbers are stored, so they must never change.
 */
const FIRST_COMPENSATION = 1 << 24;

export function compensationOf(node: number): number {
  return FIRST_COMPENSATION + node;
}

/** Whether a number is that of a compensation. */
export function isCompensation(number: number): boolean {
  return number >= FIRST_COMPENSATION;
}

/** Node that the number of a compensation belongs to. */
export function nodeOfCompensation(number: number): number {
  return number - FIRST_COMPENSATION;
}

/**
 * Work of a node, or of its compensation; undefined: there is none.
 * @param number number of a node, or of a compensation
 */
export function workOf(definitions: readonly StoredNode[], number: number): StoredWork | undefined {
  return isCompensation(number) ? definitions[nodeOfCompensation(number)]?.compensate : definitions[number];
}
