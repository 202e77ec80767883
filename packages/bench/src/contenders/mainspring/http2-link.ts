import { type ClientHttp2Stream, connect, constants } from "node:http2";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { ServerMessageSchema, WorkerMessageSchema } from "@mainspring/proto";
import type { LinkConnection, LinkEvents, WorkerLink } from "@mainspring/sdk/worker-core";

const PATH = "/mainspring.worker.v1.WorkerService/Connect";
/** Size of a gRPC message's header, in bytes: one byte that says whether it is compressed, and the length. */
const PREFIX_BYTES = 5;
const NO_BYTES = Buffer.alloc(0);

/**
 * Worker protocol over bare HTTP/2, with one connection per worker. A gRPC client uses tens of kilobytes and several
 * timers for each of its channels, and thousands of them share this machine with the measured system.
 */
export function http2Link(address: string): WorkerLink {
  return {
    open(events) {
      const session = connect(`http://${address}`);
      const stream = session.request({
        [constants.HTTP2_HEADER_METHOD]: "POST",
        [constants.HTTP2_HEADER_PATH]: PATH,
        "content-type": "application/grpc",
        te: "trailers",
      });
      // The end of the stream reports the same.
      session.on("error", () => undefined);
      return connectionOf(stream, events, () => session.destroy());
    },
  };
}

function connectionOf(stream: ClientHttp2Stream, events: LinkEvents, end: () => void): LinkConnection {
  let unread: Buffer = NO_BYTES;
  stream.on("data", (chunk: Buffer) => {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
    while (unread.length >= PREFIX_BYTES) {
      const until = PREFIX_BYTES + unread.readUInt32BE(1);
      if (unread.length < until) break;
      const message = fromBinary(ServerMessageSchema, unread.subarray(PREFIX_BYTES, until));
      unread = unread.subarray(until);
      events.message(message);
    }
  });
  stream.on("error", () => undefined);
  stream.on("close", () => {
    end();
    events.closed({ message: "the stream has ended" });
  });
  return {
    send(message) {
      const bytes = toBinary(WorkerMessageSchema, message);
      const prefix = Buffer.alloc(PREFIX_BYTES);
      prefix.writeUInt32BE(bytes.length, 1);
      if (!stream.closed) stream.write(Buffer.concat([prefix, bytes]));
    },
    close: () => stream.end(),
  };
}
