import { PORTION_MAX_BYTES } from "./limits.ts";
import type { Letter } from "./packet.ts";

/** What is to leave together, cut so that no packet carries more bytes of payloads and results than it should, but one. */
export function portions(letters: readonly Letter[]): Letter[][] {
  const packets: Letter[][] = [];
  let packet: Letter[] = [];
  let bytes = 0;
  for (const letter of letters.flatMap(cut)) {
    const size = sizeOf(letter);
    if (packet.length > 0 && bytes + size > PORTION_MAX_BYTES) {
      packets.push(packet);
      packet = [];
      bytes = 0;
    }
    packet.push(letter);
    bytes += size;
  }
  if (packet.length > 0) packets.push(packet);
  return packets;
}

/** A list may as well come as several: the bus promises no more. */
function cut(letter: Letter): Letter[] {
  const { role, message } = letter;
  if (sizeOf(letter) <= PORTION_MAX_BYTES) return [letter];
  if (message.kind === "HINT") {
    return pieces(message.rows, ({ payload }) => payload).map(
      (rows) => ({ role, message: { ...message, rows } }) as Letter,
    );
  }
  if (message.kind === "ASSIGN") {
    return pieces(message.assigns, ({ payload }) => payload).map(
      (assigns) => ({ role, message: { ...message, assigns } }) as Letter,
    );
  }
  if (message.kind === "FINISHED") {
    return pieces(message.results, ({ result }) => result).map(
      (results) => ({ role, message: { ...message, results } }) as Letter,
    );
  }
  return [letter];
}

function pieces<T>(items: readonly T[], bytesOf: (item: T) => Uint8Array | null): T[][] {
  const all: T[][] = [[]];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf(item)?.length ?? 0;
    if (bytes > 0 && bytes + size > PORTION_MAX_BYTES) {
      all.push([]);
      bytes = 0;
    }
    all.at(-1)?.push(item);
    bytes += size;
  }
  return all;
}

function sizeOf({ message }: Letter): number {
  const sum = (sizes: readonly (Uint8Array | null)[]) => sizes.reduce((all, one) => all + (one?.length ?? 0), 0);
  if (message.kind === "HINT") return sum(message.rows.map(({ payload }) => payload));
  if (message.kind === "ASSIGN") return sum(message.assigns.map(({ payload }) => payload));
  if (message.kind === "FINISHED") return sum(message.results.map(({ result }) => result));
  return 0;
}
