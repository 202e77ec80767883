import { create, type DescMessage, type Message, mergeFromBinary } from "@bufbuild/protobuf";
import {
  contentOf,
  decodeWorkerMessage,
  HelloSchema,
  HoldsSchema,
  type Piece,
  piecesOf,
  type WorkerMessage,
  WorkerMessageSchema,
} from "@mainspring/proto";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import {
  HELLO_MAX_FIELDS,
  INTAKE_BURST_BYTES,
  INTAKE_BYTES_PER_SEC,
  INTAKE_MESSAGE_BYTES,
  PIECE_MAX_BYTES,
  PIECE_MAX_FIELDS,
} from "../limits.ts";

/** Field of `WorkerMessage` that names every attempt of a worker, and so may be large. */
interface LargeField {
  name: "hello" | "holds";
  schema: DescMessage;
}
const LARGE_FIELDS = new Map<number, LargeField>([
  [WorkerMessageSchema.field.hello.number, { name: "hello", schema: HelloSchema }],
  [WorkerMessageSchema.field.holds.number, { name: "holds", schema: HoldsSchema }],
]);
const CUT = { fields: PIECE_MAX_FIELDS, bytes: PIECE_MAX_BYTES, counted: HELLO_MAX_FIELDS };

/** The flow control of a stream. While it is paused, the peer waits. */
export interface Pausable {
  pause(): unknown;
  resume(): unknown;
}

export interface IntakeEvents {
  take(message: WorkerMessage): void;
  /**
   * Reports bytes that are not a message of the protocol, or a message that is too large. No message is handled after
   * it.
   */
  refuse(detail: string): void;
}

/**
 * Bounds the messages of one worker, per second and per turn of the event loop. While the stream is paused, no later
 * message of the worker is handled.
 */
export class WorkerIntake {
  readonly #stream: Pausable;
  readonly #runtime: Runtime;
  readonly #events: IntakeEvents;
  /** Bytes that may arrive now without a pause; negative: the stream is paused. */
  #allowance = INTAKE_BURST_BYTES;
  #countedAtMs: number;
  #pause: Timer | null = null;
  #isOver = false;

  constructor(stream: Pausable, runtime: Runtime, events: IntakeEvents) {
    this.#stream = stream;
    this.#runtime = runtime;
    this.#events = events;
    this.#countedAtMs = runtime.monotonicMs();
  }

  hear(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#charge(bytes.length + INTAKE_MESSAGE_BYTES);
    if (bytes.length <= PIECE_MAX_BYTES) {
      this.#take(bytes);
      if (this.#allowance < 0) this.#waitThen(() => undefined);
    } else this.#hearPiece(piecesOf(WorkerMessageSchema, bytes, CUT));
  }

  /** Stops reading, because the stream is over. */
  end(): void {
    this.#isOver = true;
    this.#pause?.cancel();
  }

  #hearPiece(pieces: Iterator<Piece>): void {
    const next = pieces.next();
    if (next.done === true) return;
    const { bytes, fields, first } = next.value;
    const large = LARGE_FIELDS.get(first);
    if (fields > (large === undefined ? PIECE_MAX_FIELDS : HELLO_MAX_FIELDS)) return this.#refuse(tooMany(large));
    if (fields > PIECE_MAX_FIELDS && large !== undefined) {
      const inner = piecesOf(large.schema, contentOf(bytes), CUT);
      return this.#hearLarge(large, inner, create(large.schema), () => this.#hearPiece(pieces));
    }
    this.#take(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    if (!this.#isOver) this.#waitThen(() => this.#hearPiece(pieces));
  }

  /** Handles a large field as a whole, but decodes it in pieces. */
  #hearLarge(field: LargeField, pieces: Iterator<Piece>, whole: Message, then: () => void): void {
    const next = pieces.next();
    if (next.done === true) {
      this.#events.take(Object.assign(create(WorkerMessageSchema), { [field.name]: whole }));
      if (!this.#isOver) this.#waitThen(then);
    } else if (isMerged(field, whole, next.value.bytes)) {
      this.#waitThen(() => this.#hearLarge(field, pieces, whole, then));
    } else this.#refuse(NO_MESSAGE);
  }

  #take(bytes: Buffer): void {
    const message = readMessage(bytes);
    if (message === null) this.#refuse(NO_MESSAGE);
    else this.#events.take(message);
  }

  #refuse(detail: string): void {
    this.end();
    this.#events.refuse(detail);
  }

  #charge(bytes: number): void {
    const nowMs = this.#runtime.monotonicMs();
    const grown = this.#allowance + ((nowMs - this.#countedAtMs) * INTAKE_BYTES_PER_SEC) / 1_000;
    this.#allowance = Math.min(INTAKE_BURST_BYTES, grown) - bytes;
    this.#countedAtMs = nowMs;
  }

  /** Milliseconds for which the stream must stay paused. */
  #debtMs(): number {
    return Math.max(0, Math.ceil((-this.#allowance * 1_000) / INTAKE_BYTES_PER_SEC));
  }

  #waitThen(run: () => void): void {
    this.#stream.pause();
    this.#pause = this.#runtime.setTimer(this.#debtMs(), () => {
      this.#pause = null;
      run();
      if (this.#pause === null) this.#stream.resume();
    });
  }
}

const NO_MESSAGE = "that is no message of the worker protocol: see WorkerMessage in worker.proto";

function tooMany(large: LargeField | undefined): string {
  if (large === undefined)
    return `a start, result, progress or line may have ${PIECE_MAX_FIELDS} fields: see worker.proto`;
  return `${large.name} may have ${HELLO_MAX_FIELDS} fields, those of its attempts included: see worker.proto`;
}

function isMerged({ schema }: LargeField, whole: Message, bytes: Uint8Array): boolean {
  try {
    mergeFromBinary(schema, whole, bytes);
    return true;
  } catch {
    return false;
  }
}

/** @returns null: the bytes are not a message */
function readMessage(bytes: Buffer): WorkerMessage | null {
  try {
    return decodeWorkerMessage(bytes);
  } catch {
    return null;
  }
}
