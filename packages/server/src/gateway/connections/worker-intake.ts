import { create, mergeFromBinary } from "@bufbuild/protobuf";
import {
  contentOf,
  decodeWorkerMessage,
  type Hello,
  HelloSchema,
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

/** The number of the field `hello` of a message. */
const HELLO_FIELD = WorkerMessageSchema.field.hello.number;
const CUT = { fields: PIECE_MAX_FIELDS, bytes: PIECE_MAX_BYTES, counted: HELLO_MAX_FIELDS };

/** The part of a stream that can be held up; the peer then has to wait by the network's flow control. */
export interface Pausable {
  pause(): unknown;
  resume(): unknown;
}

export interface IntakeEvents {
  take(message: WorkerMessage): void;
  /** The bytes are no message of the protocol, or a larger one than may be. Nothing is taken after it. */
  refuse(detail: string): void;
}

/**
 * Bounds the messages of one worker, per second and per turn of the event loop. While the stream pauses, nothing
 * more is heard of it, so what follows waits its turn.
 */
export class WorkerIntake {
  readonly #stream: Pausable;
  readonly #runtime: Runtime;
  readonly #events: IntakeEvents;
  /** How many bytes may come now without a pause; less than none: the stream pauses. */
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

  /** The stream is over. */
  end(): void {
    this.#isOver = true;
    this.#pause?.cancel();
  }

  #hearPiece(pieces: Iterator<Piece>): void {
    const next = pieces.next();
    if (next.done === true) return;
    const { bytes, fields, first } = next.value;
    const isHello = first === HELLO_FIELD;
    if (fields > (isHello ? HELLO_MAX_FIELDS : PIECE_MAX_FIELDS)) return this.#refuse(tooMany(isHello));
    if (fields > PIECE_MAX_FIELDS) {
      const inner = piecesOf(HelloSchema, contentOf(bytes), CUT);
      return this.#hearHello(inner, create(HelloSchema), () => this.#hearPiece(pieces));
    }
    this.#take(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    if (!this.#isOver) this.#waitThen(() => this.#hearPiece(pieces));
  }

  /** A hello counts as a whole, but is read in pieces as well. */
  #hearHello(pieces: Iterator<Piece>, hello: Hello, then: () => void): void {
    const next = pieces.next();
    if (next.done === true) {
      this.#events.take(create(WorkerMessageSchema, { hello }));
      if (!this.#isOver) this.#waitThen(then);
    } else if (isMerged(hello, next.value.bytes)) this.#waitThen(() => this.#hearHello(pieces, hello, then));
    else this.#refuse(NO_MESSAGE);
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

  /** How long the worker has to wait until it may send again. */
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

function tooMany(isHello: boolean): string {
  if (isHello)
    return `a hello may have ${HELLO_MAX_FIELDS} fields, those of its holds included: see Hello in worker.proto`;
  return `a start, result, progress or line may have ${PIECE_MAX_FIELDS} fields: see worker.proto`;
}

function isMerged(hello: Hello, bytes: Uint8Array): boolean {
  try {
    mergeFromBinary(HelloSchema, hello, bytes);
    return true;
  } catch {
    return false;
  }
}

/** @returns null where it is none */
function readMessage(bytes: Buffer): WorkerMessage | null {
  try {
    return decodeWorkerMessage(bytes);
  } catch {
    return null;
  }
}
