import { NODE_NAME_CHARS_MAX, NODE_NAME_PATTERN } from "@mainspring/contract/limits";
import type { Condition } from "./definition.ts";

/** Codes of conditions in a graph. The code of `BRANCH:x` is `WHEN_BRANCH` plus the index of x in the graph's branches. */
export const WHEN_SUCCEEDED = 0;
export const WHEN_FAILED = 1;
export const WHEN_FINISHED = 2;
export const WHEN_BRANCH = 3;

const PREFIX = "BRANCH:";
const NAME = new RegExp(NODE_NAME_PATTERN);

/** Whether a text can be the name of a node or of a branch. */
export function isNodeName(text: string): boolean {
  return text.length <= NODE_NAME_CHARS_MAX && NAME.test(text);
}

/** Gives every branch that a graph's conditions name a number, in order of appearance. */
export class ConditionCodes {
  readonly branches: string[] = [];
  readonly #codes = new Map<string, number>([
    ["SUCCEEDED", WHEN_SUCCEEDED],
    ["FAILED", WHEN_FAILED],
    ["FINISHED", WHEN_FINISHED],
  ]);

  /** @returns null: the text is no condition */
  of(when: string): number | null {
    // Long strings of the same length have the same hash, so a map of them would compare megabytes.
    if (when.length > PREFIX.length + NODE_NAME_CHARS_MAX) return null;
    return this.#codes.get(when) ?? this.#added(when);
  }

  #added(when: string): number | null {
    const branch = when.slice(PREFIX.length);
    if (!when.startsWith(PREFIX) || !isNodeName(branch)) return null;
    const code = WHEN_BRANCH + this.branches.push(branch) - 1;
    this.#codes.set(when, code);
    return code;
  }
}

/** Condition of a code. */
export function conditionOf(code: number, branches: readonly string[]): Condition {
  if (code === WHEN_SUCCEEDED) return "SUCCEEDED";
  if (code === WHEN_FAILED) return "FAILED";
  if (code === WHEN_FINISHED) return "FINISHED";
  return `BRANCH:${branches[code - WHEN_BRANCH]}`;
}
