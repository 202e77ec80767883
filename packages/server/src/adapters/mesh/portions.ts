import { PORTION_MAX_BYTES, PORTION_MAX_ITEMS } from "./limits.ts";
import type { Letter } from "./packet.ts";

/** Load of a packet. */
interface Load {
  /** Size of payloads and results, in bytes. */
  bytes: number;
  /** Number of messages and of items of their lists, which form the text. */
  items: number;
}

/** Divides letters that leave together into packets. No packet exceeds its limits, unless a single letter does. */
export function portions(letters: readonly Letter[]): Letter[][] {
  return packs(letters.flatMap(cut), loadOf);
}

/** Divides a letter with a long list into several letters; the bus does not promise to keep lists together. */
function cut(letter: Letter): Letter[] {
  const { role, message } = letter;
  if (fits(loadOf(letter))) return [letter];
  if (message.kind === "HINT") {
    return packs(message.rows, ({ payload }) => itemOf(payload)).map(
      (rows) => ({ role, message: { ...message, rows } }) as Letter,
    );
  }
  if (message.kind === "ASSIGN") {
    return packs(message.assigns, ({ payload, steps }) => itemOf(payload, steps)).map(
      (assigns) => ({ role, message: { ...message, assigns } }) as Letter,
    );
  }
  if (message.kind === "FINISHED") {
    return packs(message.results, ({ result }) => itemOf(result)).map(
      (results) => ({ role, message: { ...message, results } }) as Letter,
    );
  }
  if (message.kind === "STEPS") {
    return packs(message.steps, ({ data }) => itemOf(data)).map(
      (steps) => ({ role, message: { ...message, steps } }) as Letter,
    );
  }
  return [letter];
}

/** Groups consecutive items up to the limits. An item above the limits is a group of its own. */
function packs<T>(items: readonly T[], weigh: (item: T) => Load): T[][] {
  const all: T[][] = [];
  let sum: Load = { bytes: 0, items: 0 };
  for (const item of items) {
    const load = weigh(item);
    sum = { bytes: sum.bytes + load.bytes, items: sum.items + load.items };
    if (all.length === 0 || !fits(sum)) {
      all.push([]);
      sum = load;
    }
    all.at(-1)?.push(item);
  }
  return all;
}

function fits({ bytes, items }: Load): boolean {
  return bytes <= PORTION_MAX_BYTES && items <= PORTION_MAX_ITEMS;
}

function itemOf(bytes: Uint8Array | null, more?: Uint8Array | null): Load {
  return { bytes: (bytes?.length ?? 0) + (more?.length ?? 0), items: 1 };
}

function loadOf({ message }: Letter): Load {
  const lists = Object.values(message).filter((value): value is readonly unknown[] => Array.isArray(value));
  return { bytes: bytesOf(message), items: lists.reduce((items, list) => items + list.length, 1) };
}

/** Size of the payloads and results in a message, in bytes. */
export function bytesOf(message: Letter["message"]): number {
  const sum = (sizes: readonly (Uint8Array | null | undefined)[]) =>
    sizes.reduce((all, one) => all + (one?.length ?? 0), 0);
  if (message.kind === "HINT") return sum(message.rows.map(({ payload }) => payload));
  if (message.kind === "ASSIGN") return sum(message.assigns.flatMap(({ payload, steps }) => [payload, steps]));
  if (message.kind === "STEPS") return sum(message.steps.map(({ data }) => data));
  if (message.kind === "FINISHED") return sum(message.results.map(({ result }) => result));
  return 0;
}
