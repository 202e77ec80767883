import type { ExecutionId, JobId } from "../ids.ts";

/** Number of hexadecimal digits and one hyphen with which a UUIDv7 says its time. */
const TIME_CHARS = 13;

/**
 * Id of the execution of a run's node: a UUIDv7 that every node of a cluster derives alike, so that a second insert of
 * the same execution conflicts. The id has the time of the run's id, so that all executions of a run lie in the same
 * month's partition. Its other bits are 74 bits of a hash that is distinct, before it is cut, for all inputs of a run.
 * @param node index of the node in the definition
 * @param item index of the item of a map; null: the node itself
 * @param salt 0; the next number when another execution has the id
 */
export function nodeExecutionId(run: ExecutionId, node: number, item: number | null, salt: number): ExecutionId {
  const [a, b, c, d] = mixed(wordsOf(run), [node, item ?? 0, salt, item === null ? 0 : 1]);
  const version = `7${hex(a >>> 20, 3)}`;
  const variant = hex(0x8000 | (b >>> 18), 4);
  return `${run.slice(0, TIME_CHARS)}-${version}-${variant}-${hex(c >>> 16, 4)}${hex(d, 8)}`;
}

/** Kinds of commands whose ids follow from a node; the number takes the place of the salt, behind those of executions. */
const COMMAND_SALTS = { NODE_ENDED: 0x4000_0001, CANCEL: 0x4000_0002 } as const;

/**
 * Id of a command that the owner of a run and the owner of a node's concurrency key send each other. A node has one
 * command of each kind, so that a repeated one finds its place taken.
 */
export function nodeCommandId(
  kind: keyof typeof COMMAND_SALTS,
  run: ExecutionId,
  node: number,
  item: number | null,
): string {
  return nodeExecutionId(run, node, item, COMMAND_SALTS[kind]);
}

/** Takes the place of the salt in ids of sub-workflows. */
const WORKFLOW_SALT = 0x4000_0003;

/**
 * Id under which the store keeps the sub-workflow of a node.
 * @param workflow job of the workflow that has the node, or id of the sub-workflow that has it
 */
export function subWorkflowId(workflow: JobId, node: number): JobId {
  return nodeExecutionId(workflow, node, null, WORKFLOW_SALT);
}

type Words = [number, number, number, number];

function wordsOf(id: string): Words {
  const digits = id.replaceAll("-", "");
  const word = (at: number) => Number.parseInt(digits.slice(8 * at, 8 * at + 8), 16) | 0;
  return [word(0), word(1), word(2), word(3)];
}

/**
 * The rounds of MurmurHash3 (x86, 128 bits) for one block of 16 bytes, with a seed of 128 bits. Each step can be undone,
 * so no two blocks have the same hash for one seed. The function must never change, because stored rows depend on it.
 */
function mixed(seed: Words, block: Words): Words {
  let [a, b, c, d] = seed;
  a = rotated(a ^ scrambled(block[0], 0x239b961b, 15, 0xab0e9789), 19) + b;
  a = (Math.imul(a, 5) + 0x561ccd1b) | 0;
  b = rotated(b ^ scrambled(block[1], 0xab0e9789, 16, 0x38b34ae5), 17) + c;
  b = (Math.imul(b, 5) + 0x0bcaa747) | 0;
  c = rotated(c ^ scrambled(block[2], 0x38b34ae5, 17, 0xa1e38b93), 15) + d;
  c = (Math.imul(c, 5) + 0x96cd1c35) | 0;
  d = rotated(d ^ scrambled(block[3], 0xa1e38b93, 18, 0x239b961b), 13) + a;
  d = (Math.imul(d, 5) + 0x32ac3b17) | 0;
  [a, b, c, d] = summed([a, b, c, d]);
  return summed([finished(a), finished(b), finished(c), finished(d)]);
}

function summed([a, b, c, d]: Words): Words {
  const sum = (a + b + c + d) | 0;
  return [sum, (b + sum) | 0, (c + sum) | 0, (d + sum) | 0];
}

function scrambled(word: number, before: number, bits: number, after: number): number {
  return Math.imul(rotated(Math.imul(word, before), bits), after);
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function finished(word: number): number {
  let hash = word ^ (word >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function hex(value: number, digits: number): string {
  return (value >>> 0).toString(16).padStart(digits, "0");
}
