import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type Assign,
  type Finished,
  type ServerMessage,
  ServerMessageSchema,
  type Started,
  type Token,
  type WorkerMessage,
  WorkerMessageSchema,
} from "../gen/mainspring/worker/v1/worker_pb.js";
import { Reader } from "./reader.ts";
import { Writer } from "./writer.ts";

/**
 * The protocol's messages as bytes and back. Messages that hold only what every job needs (assignments, acknowledgements,
 * starts, results without an error) are written and read here, several times faster than by the generated code, which
 * does all others. Both write the same format, and whoever reads cannot tell them apart.
 */

/** Approximate size of an item, in bytes. */
const ITEM_BYTES = 128;
const NO_BYTES = new Uint8Array(0);

export function encodeServerMessage(message: ServerMessage): Uint8Array {
  const { assigns, acks } = message;
  if (hasRareFields(message)) return toBinary(ServerMessageSchema, message);
  const writer = new Writer(ITEM_BYTES * (1 + assigns.length + acks.length));
  for (const assign of assigns) writeAssign(writer, assign);
  for (const token of acks) writeToken(writer, 4, token);
  return writer.isOdd ? toBinary(ServerMessageSchema, message) : writer.written;
}

function hasRareFields(message: ServerMessage): boolean {
  const { welcome, cancels, refused, resendResults, drain, ask, takeBack, stepAcks, recorded } = message;
  if (welcome !== undefined || ask !== undefined || resendResults || drain) return true;
  return cancels.length + refused.length + takeBack.length + stepAcks.length + recorded.length > 0;
}

/** @throws the bytes are not a message */
export function decodeServerMessage(bytes: Buffer): ServerMessage {
  const assigns: Assign[] = [];
  const acks: Token[] = [];
  const reader = new Reader(bytes);
  while (reader.next()) {
    if (reader.field === 2) assigns.push(readAssign(reader));
    else if (reader.field === 4) acks.push(readToken(reader));
    else reader.odd();
  }
  if (reader.isOdd) return fromBinary(ServerMessageSchema, bytes);
  return {
    $typeName: "mainspring.worker.v1.ServerMessage",
    assigns,
    cancels: [],
    acks,
    refused: [],
    resendResults: false,
    drain: false,
    takeBack: [],
    stepAcks: [],
    recorded: [],
  };
}

export function encodeWorkerMessage(message: WorkerMessage): Uint8Array {
  const { hello, started, finished, heartbeat, progress, logs, draining, ended, holds, steps } = message;
  const isRare = hello !== undefined || heartbeat !== undefined || holds !== undefined || draining;
  if (isRare || progress.length + logs.length + ended.length + steps.length > 0 || !finished.every(isPlain))
    return toBinary(WorkerMessageSchema, message);
  const writer = new Writer(ITEM_BYTES * (1 + started.length + finished.length));
  for (const item of started) writeStarted(writer, item);
  for (const item of finished) writeFinished(writer, item);
  return writer.isOdd ? toBinary(WorkerMessageSchema, message) : writer.written;
}

/** @throws the bytes are not a message */
export function decodeWorkerMessage(bytes: Buffer): WorkerMessage {
  const started: Started[] = [];
  const finished: Finished[] = [];
  const reader = new Reader(bytes);
  while (reader.next()) {
    if (reader.field === 2) started.push(readStarted(reader));
    else if (reader.field === 3) finished.push(readFinished(reader));
    else reader.odd();
  }
  if (reader.isOdd) return fromBinary(WorkerMessageSchema, bytes);
  return {
    $typeName: "mainspring.worker.v1.WorkerMessage",
    started,
    finished,
    progress: [],
    logs: [],
    draining: false,
    ended: [],
    steps: [],
  };
}

/** An empty branch is not plain, because the writer leaves out empty texts and the generated code does not. */
function isPlain({ error, advice, stillRunning, waits, branch, spawned }: Finished): boolean {
  const lists = waits.length + spawned.length;
  return error === undefined && advice === 0 && !stillRunning && lists === 0 && branch !== "";
}

function writeToken(writer: Writer, field: number, { executionId, attempt, shard }: Token): void {
  const start = writer.begin(field);
  writer.text(1, executionId);
  writer.number(2, attempt);
  writer.number(3, shard);
  writer.end(start);
}

function readToken(reader: Reader): Token {
  const token: Token = { $typeName: "mainspring.worker.v1.Token", executionId: "", attempt: 0, shard: 0 };
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) token.executionId = reader.ascii();
    else if (reader.field === 2) token.attempt = reader.number32();
    else if (reader.field === 3) token.shard = reader.number32();
    else reader.odd();
  }
  reader.leave(outer);
  return token;
}

function writeAssign(writer: Writer, assign: Assign): void {
  const start = writer.begin(2);
  if (assign.token !== undefined) writeToken(writer, 1, assign.token);
  writer.text(2, assign.handler);
  writer.bytes(3, assign.payload);
  writer.number(4, assign.timeoutMs);
  writer.number(5, assign.cancelGraceMs);
  writer.number(6, assign.failures);
  writer.number(7, assign.maxAttempts);
  writer.number(8, Number(assign.scheduledAtMs));
  writer.number(9, Number(assign.epoch));
  writer.number(10, assign.maySpawn ? 1 : 0);
  writer.text(11, assign.traceparent);
  writer.end(start);
}

function readAssign(reader: Reader): Assign {
  const assign: Assign = {
    $typeName: "mainspring.worker.v1.Assign",
    handler: "",
    payload: NO_BYTES,
    timeoutMs: 0,
    cancelGraceMs: 0,
    failures: 0,
    maxAttempts: 0,
    scheduledAtMs: 0n,
    epoch: 0n,
    maySpawn: false,
    traceparent: "",
  };
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1 && assign.token === undefined) assign.token = readToken(reader);
    else if (reader.field === 2) assign.handler = reader.ascii();
    else if (reader.field === 3) assign.payload = reader.bytes();
    else if (reader.field === 4) assign.timeoutMs = reader.number32();
    else if (reader.field === 5) assign.cancelGraceMs = reader.number32();
    else if (reader.field === 6) assign.failures = reader.number32();
    else if (reader.field === 7) assign.maxAttempts = reader.number32();
    else if (reader.field === 8) assign.scheduledAtMs = BigInt(reader.number());
    else if (reader.field === 9) assign.epoch = BigInt(reader.number());
    else if (reader.field === 10) assign.maySpawn = reader.number32() !== 0;
    else if (reader.field === 11) assign.traceparent = reader.ascii();
    else reader.odd();
  }
  reader.leave(outer);
  return assign;
}

function writeStarted(writer: Writer, { token, startedAtMs }: Started): void {
  const start = writer.begin(2);
  if (token !== undefined) writeToken(writer, 1, token);
  writer.number(2, Number(startedAtMs));
  writer.end(start);
}

function readStarted(reader: Reader): Started {
  const started: Started = { $typeName: "mainspring.worker.v1.Started", startedAtMs: 0n };
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1 && started.token === undefined) started.token = readToken(reader);
    else if (reader.field === 2) started.startedAtMs = BigInt(reader.number());
    else reader.odd();
  }
  reader.leave(outer);
  return started;
}

function writeFinished(writer: Writer, finished: Finished): void {
  const start = writer.begin(3);
  if (finished.token !== undefined) writeToken(writer, 1, finished.token);
  writer.number(2, finished.outcome);
  writer.number(3, Number(finished.startedAtMs));
  writer.number(4, Number(finished.finishedAtMs));
  writer.bytes(5, finished.result);
  if (finished.branch !== undefined) writer.text(11, finished.branch);
  writer.end(start);
}

function readFinished(reader: Reader): Finished {
  const finished: Finished = {
    $typeName: "mainspring.worker.v1.Finished",
    outcome: 0,
    startedAtMs: 0n,
    finishedAtMs: 0n,
    result: NO_BYTES,
    advice: 0,
    retryAtMs: 0n,
    stillRunning: false,
    waits: [],
    spawned: [],
  };
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1 && finished.token === undefined) finished.token = readToken(reader);
    else if (reader.field === 2) finished.outcome = reader.number32();
    else if (reader.field === 3) finished.startedAtMs = BigInt(reader.number());
    else if (reader.field === 4) finished.finishedAtMs = BigInt(reader.number());
    else if (reader.field === 5) finished.result = reader.bytes();
    else if (reader.field === 11) finished.branch = reader.ascii();
    else reader.odd();
  }
  reader.leave(outer);
  return finished;
}
