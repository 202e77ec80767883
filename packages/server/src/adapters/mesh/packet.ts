import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { countFields, MeshPacketSchema } from "@mainspring/proto";
import { Compile } from "typebox/compile";
import type { Mail, Role } from "../../ports/bus.ts";
import { Attachments } from "./attachments.ts";
import { PACKET_MAX_ATTACHMENTS, PACKET_MAX_TEXT_BYTES } from "./limits.ts";
import { toApi } from "./schemas/to-api.ts";
import { toGateway } from "./schemas/to-gateway.ts";
import { toScheduler } from "./schemas/to-scheduler.ts";

/** A message and who is to have it. */
export type Letter = { [R in Role]: { role: R; message: Mail[R] } }[Role];

type Checks = ReadonlyMap<unknown, { Check(value: unknown): boolean }>;
const CHECKS = new Map<unknown, Checks>(
  Object.entries({ api: toApi, gateway: toGateway, scheduler: toScheduler }).map(([role, schemas]) => [
    role,
    new Map(Object.entries(schemas).map(([kind, schema]) => [kind, Compile(schema)])),
  ]),
);

/** JSON, because it is quick and new fields harm nobody; bytes beside it, because as text they would grow. */
export function packed(letters: readonly Letter[]): Buffer {
  const attachments = new Attachments();
  const wire = letters.map(({ role, message }) => [role, attachments.detached(message)]);
  const messages = Buffer.from(JSON.stringify(wire));
  const packet = create(MeshPacketSchema, { messages, attachments: attachments.all });
  const bytes = toBinary(MeshPacketSchema, packet);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/**
 * @returns the letters that this node understands, and how many it does not: a newer node may say what is new
 * @throws {Error} it is no packet
 */
export function unpacked(bytes: Uint8Array): { letters: Letter[]; strange: number } {
  const most = PACKET_MAX_ATTACHMENTS;
  if (countFields(MeshPacketSchema, bytes, most) > most) throw new Error(`a packet has more than ${most} attachments`);
  const packet = fromBinary(MeshPacketSchema, bytes);
  if (packet.messages.length > PACKET_MAX_TEXT_BYTES) {
    throw new Error(`the messages of a packet have more than ${PACKET_MAX_TEXT_BYTES} bytes`);
  }
  const attachments = new Attachments(packet.attachments);
  const { buffer, byteOffset, length } = packet.messages;
  const wire: unknown = JSON.parse(Buffer.from(buffer, byteOffset, length).toString());
  if (!Array.isArray(wire)) throw new Error("the messages are not a list");
  const letters = wire.flatMap((letter) => understood(letter, attachments));
  return { letters, strange: wire.length - letters.length };
}

function understood(letter: unknown, attachments: Attachments): Letter[] {
  if (!Array.isArray(letter)) return [];
  const [role, message] = letter as [unknown, { kind?: unknown } | null];
  const isKnown = CHECKS.get(role)?.get(message?.kind)?.Check(message) ?? false;
  return isKnown && attachments.attach(message as Mail[Role]) ? [{ role, message } as Letter] : [];
}
