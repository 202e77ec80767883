import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { MeshPacketSchema, piecesOf } from "@mainspring/proto";
import { Compile } from "typebox/compile";
import type { Mail, Receiver } from "../../ports/bus.ts";
import { Attachments } from "./attachments.ts";
import { AT_ONCE_FIELDS, PACKET_MAX_ATTACHMENTS, PACKET_MAX_TEXT_BYTES } from "./limits.ts";
import { toApi } from "./schemas/to-api.ts";
import { type BusReading, toBus } from "./schemas/to-bus.ts";
import { toGateway } from "./schemas/to-gateway.ts";
import { toNode } from "./schemas/to-node.ts";
import { toScheduler } from "./schemas/to-scheduler.ts";
import { wireLetters } from "./wire-letters.ts";

/** A message and its receiver: a role, or the bus itself. */
export type Letter =
  | { [R in Receiver]: { role: R; message: Mail[R] } }[Receiver]
  | { role: "bus"; message: BusReading };

type Checks = ReadonlyMap<unknown, { Check(value: unknown): boolean }>;
const CHECKS = new Map<unknown, Checks>(
  Object.entries({ api: toApi, gateway: toGateway, scheduler: toScheduler, node: toNode, bus: toBus }).map(
    ([role, schemas]) => [role, new Map(Object.entries(schemas).map(([kind, schema]) => [kind, Compile(schema)]))],
  ),
);

/**
 * Packs letters: messages as JSON, which is fast and ignores new fields, and bytes beside the JSON, because text would
 * be larger.
 */
export function packed(letters: readonly Letter[]): Buffer {
  const attachments = new Attachments();
  const wire = letters.map(({ role, message }) => [role, attachments.detached(message)]);
  const messages = Buffer.from(JSON.stringify(wire));
  const packet = create(MeshPacketSchema, { messages, attachments: attachments.all });
  const bytes = toBinary(MeshPacketSchema, packet);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Result of one step of reading a packet. */
export interface Understood {
  letters: Letter[];
  /** Number of letters that this node does not understand; a newer node may send new kinds. */
  strange: number;
}

/** @throws {Error} the bytes are no packet */
export function unpacked(bytes: Uint8Array): Understood {
  const steps = [...unpacking(bytes)];
  const strange = steps.reduce((sum, step) => sum + step.strange, 0);
  return { letters: steps.flatMap(({ letters }) => letters), strange };
}

/**
 * Reads a packet in steps of some milliseconds, because a packet may have 16 MiB of text and thousands of payloads.
 * @throws {Error} the bytes are no packet
 */
export function* unpacking(bytes: Uint8Array): Generator<Understood> {
  const attachments = new Attachments();
  let text: Uint8Array = new Uint8Array(0);
  let fields = 0;
  const limits = { fields: AT_ONCE_FIELDS, bytes: bytes.length, counted: AT_ONCE_FIELDS };
  for (const piece of piecesOf(MeshPacketSchema, bytes, limits)) {
    fields += piece.fields;
    if (fields > PACKET_MAX_ATTACHMENTS)
      throw new Error(`a packet has more than ${PACKET_MAX_ATTACHMENTS} attachments`);
    const packet = fromBinary(MeshPacketSchema, piece.bytes);
    if (packet.messages.length > 0) text = packet.messages;
    for (const attachment of packet.attachments) attachments.all.push(attachment);
    yield { letters: [], strange: 0 };
  }
  if (text.length > PACKET_MAX_TEXT_BYTES) {
    throw new Error(`the messages of a packet have more than ${PACKET_MAX_TEXT_BYTES} bytes`);
  }
  for (const wire of wireLetters(Buffer.from(text.buffer, text.byteOffset, text.length))) {
    const letters = wire.flatMap((letter) => understood(letter, attachments));
    yield { letters, strange: wire.length - letters.length };
  }
}

function understood(letter: unknown, attachments: Attachments): Letter[] {
  if (!Array.isArray(letter)) return [];
  const [role, message] = letter as [unknown, { kind?: unknown } | null];
  const isKnown = CHECKS.get(role)?.get(message?.kind)?.Check(message) ?? false;
  return isKnown && attachments.attach(message as Letter["message"]) ? [{ role, message } as Letter] : [];
}
