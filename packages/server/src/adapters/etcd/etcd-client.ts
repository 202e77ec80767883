import { readFileSync } from "node:fs";
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { ChannelCredentials, Client, type ClientOptions, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import {
  AuthenticateRequestSchema,
  AuthenticateResponseSchema,
  CompactionRequestSchema,
  CompactionResponseSchema,
  LeaseGrantRequestSchema,
  LeaseGrantResponseSchema,
  LeaseKeepAliveRequestSchema,
  LeaseKeepAliveResponseSchema,
  LeaseRevokeRequestSchema,
  LeaseRevokeResponseSchema,
  RangeRequestSchema,
  RangeResponseSchema,
  StatusRequestSchema,
  StatusResponseSchema,
  TxnRequestSchema,
  TxnResponseSchema,
} from "@mainspring/proto/etcd";
import type { EtcdAddress, EtcdTls } from "../../ports/etcd-address.ts";
import { LeasesUnavailable, LeasesUnusable } from "../../ports/leases.ts";
import type { Runtime } from "../../ports/runtime.ts";

interface Method<I extends DescMessage, O extends DescMessage> {
  path: string;
  input: I;
  output: O;
}

function method<I extends DescMessage, O extends DescMessage>(name: string, input: I, output: O): Method<I, O> {
  return { path: `/etcdserverpb.${name}`, input, output };
}

/** Methods of etcd that the server calls. */
export const METHODS = {
  range: method("KV/Range", RangeRequestSchema, RangeResponseSchema),
  txn: method("KV/Txn", TxnRequestSchema, TxnResponseSchema),
  compact: method("KV/Compact", CompactionRequestSchema, CompactionResponseSchema),
  grant: method("Lease/LeaseGrant", LeaseGrantRequestSchema, LeaseGrantResponseSchema),
  revoke: method("Lease/LeaseRevoke", LeaseRevokeRequestSchema, LeaseRevokeResponseSchema),
  keepAlive: method("Lease/LeaseKeepAlive", LeaseKeepAliveRequestSchema, LeaseKeepAliveResponseSchema),
  status: method("Maintenance/Status", StatusRequestSchema, StatusResponseSchema),
} as const;
const AUTHENTICATE = method("Auth/Authenticate", AuthenticateRequestSchema, AuthenticateResponseSchema);

/** Longest wait for etcd of one operation, in ms, whatever number of members it tries. */
const TIMEOUT_MS = 1_000;
/** Largest answer, in bytes: thousands of nodes. */
const ANSWER_MAX_BYTES = 16 * 2 ** 20;

const CHANNEL: ClientOptions = {
  // The pings detect a member that vanished without closing; deadlines show it sooner.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_retries": 0,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  "grpc.max_receive_message_length": ANSWER_MAX_BYTES,
};

/** Codes after which another member may answer: the call has no effect, or one that may be repeated. */
const ELSEWHERE: readonly number[] = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED, status.INTERNAL];
/** Errors of etcd whose cause is an old token. */
const OLD_TOKEN = /invalid auth token|revision of auth store is old/;

/** A call that etcd refused, with etcd's words. */
export class EtcdRefused extends Error {
  override readonly name = "EtcdRefused";
  /** Status code of gRPC. */
  readonly code: number;

  constructor({ code, details }: Pick<ServiceError, "code" | "details">) {
    super(details);
    this.code = code;
  }
}

/**
 * Calls methods of an etcd cluster: of one member, and of the next one when it does not answer. Every operation ends within
 * TIMEOUT_MS.
 */
export class EtcdClient {
  readonly #address: EtcdAddress;
  readonly #runtime: Runtime;
  readonly #credentials: ChannelCredentials;
  readonly #members = new Map<string, Client>();
  /** Number of the member in use. */
  #at = 0;
  #token: string | null = null;

  /** @throws {LeasesUnusable} a file of MAINSPRING_ETCD cannot be read */
  constructor(address: EtcdAddress, runtime: Runtime) {
    this.#address = address;
    this.#runtime = runtime;
    this.#credentials = address.tls === null ? ChannelCredentials.createInsecure() : tlsCredentials(address.tls);
  }

  /** Time on the monotonic clock at which an operation that begins now must have ended. */
  deadline(): number {
    return this.#runtime.monotonicMs() + TIMEOUT_MS;
  }

  /**
   * @param untilMs end of the operation that the call belongs to, from `deadline`
   * @throws {LeasesUnavailable} no member answered in time
   * @throws {LeasesUnusable} etcd refuses the user or the password
   * @throws {EtcdRefused}
   */
  async call<I extends DescMessage, O extends DescMessage>(
    wanted: Method<I, O>,
    input: MessageShape<I>,
    untilMs = this.deadline(),
  ): Promise<MessageShape<O>> {
    const hadToken = this.#token;
    const login = await this.#loggedIn(untilMs);
    try {
      return await this.#try(wanted, input, login, untilMs);
    } catch (error) {
      if (hadToken === null || !(error instanceof EtcdRefused) || !OLD_TOKEN.test(error.message)) throw error;
      this.#token = null;
      return this.#try(wanted, input, await this.#loggedIn(untilMs), untilMs);
    }
  }

  close(): void {
    for (const member of this.#members.values()) member.close();
    this.#members.clear();
  }

  /** Metadata for calls: etcd answers at once that it has no leader, and learns who asks. */
  async #loggedIn(untilMs: number): Promise<Metadata> {
    const { login } = this.#address;
    const metadata = new Metadata();
    metadata.set("hasleader", "true");
    if (login === null) return metadata;
    this.#token ??= await this.#logIn(login, metadata, untilMs);
    if (this.#token !== "") metadata.set("token", this.#token);
    return metadata;
  }

  /** @returns empty: etcd asks nobody to log in */
  async #logIn(login: NonNullable<EtcdAddress["login"]>, metadata: Metadata, untilMs: number): Promise<string> {
    try {
      const request = create(AuthenticateRequestSchema, login);
      return (await this.#try(AUTHENTICATE, request, metadata, untilMs)).token;
    } catch (error) {
      if (!(error instanceof EtcdRefused)) throw error;
      if (/authentication is not enabled/.test(error.message)) return "";
      throw new LeasesUnusable(`MAINSPRING_ETCD has a user or a password that etcd refuses: ${error.message}`, {
        cause: error,
      });
    }
  }

  /** Asks members until one answers. Each has an equal part of the time that is left, so that a silent one is passed over. */
  async #try<I extends DescMessage, O extends DescMessage>(
    wanted: Method<I, O>,
    input: MessageShape<I>,
    metadata: Metadata,
    untilMs: number,
  ): Promise<MessageShape<O>> {
    const { endpoints } = this.#address;
    let last: ServiceError | null = null;
    for (let left = endpoints.length; left > 0; left--) {
      const patienceMs = (untilMs - this.#runtime.monotonicMs()) / Math.min(left, 2);
      if (patienceMs <= 0) break;
      const endpoint = endpoints[this.#at] as string;
      try {
        return await this.#ask(this.#member(endpoint), wanted, input, metadata, patienceMs);
      } catch (error) {
        last = error as ServiceError;
        if (!ELSEWHERE.includes(last.code)) throw new EtcdRefused(last);
        this.#drop(endpoint);
        // Another operation may have gone on to the next member meanwhile.
        if (endpoints[this.#at] === endpoint) this.#at = (this.#at + 1) % endpoints.length;
      }
    }
    throw new LeasesUnavailable(
      `etcd did not answer about the nodes' leases${last === null ? "" : `: ${last.details}`}`,
      {
        cause: last,
      },
    );
  }

  /** A member that did not answer gets a new connection, because its old one may lead nowhere. */
  #drop(endpoint: string): void {
    this.#members.get(endpoint)?.close();
    this.#members.delete(endpoint);
  }

  #member(endpoint: string): Client {
    const known = this.#members.get(endpoint);
    if (known !== undefined) return known;
    const member = new Client(endpoint, this.#credentials, CHANNEL);
    this.#members.set(endpoint, member);
    return member;
  }

  /** LeaseKeepAlive is a stream of requests and answers for etcd; one of each is enough here. */
  #ask<I extends DescMessage, O extends DescMessage>(
    member: Client,
    { path, input: schema, output }: Method<I, O>,
    input: MessageShape<I>,
    metadata: Metadata,
    patienceMs: number,
  ): Promise<MessageShape<O>> {
    const write = (message: MessageShape<I>) => Buffer.from(toBinary(schema, message));
    const read = (bytes: Buffer) => fromBinary(output, bytes);
    return new Promise((resolve, reject) => {
      const call = member.makeBidiStreamRequest(path, write, read, metadata);
      const silence = { code: status.DEADLINE_EXCEEDED, details: `no answer within ${Math.ceil(patienceMs)} ms` };
      const timer = this.#runtime.setTimer(patienceMs, () => {
        reject(silence);
        call.cancel();
      });
      call.on("data", resolve);
      call.on("error", reject);
      call.on("status", () => {
        timer.cancel();
        // After an answer or an error this does nothing.
        reject(silence);
      });
      call.end(input);
    });
  }
}

function tlsCredentials({ ca, client }: EtcdTls): ChannelCredentials {
  try {
    return ChannelCredentials.createSsl(
      ca === null ? null : pem("ca", ca),
      client === null ? null : pem("key", client.key),
      client === null ? null : pem("cert", client.cert),
    );
  } catch (cause) {
    if (cause instanceof LeasesUnusable) throw cause;
    throw new LeasesUnusable("MAINSPRING_ETCD names files that are no certificates, or a key of another certificate", {
      cause,
    });
  }
}

function pem(parameter: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new LeasesUnusable(`MAINSPRING_ETCD must name a file that can be read in ${parameter}: ${path} (${code})`, {
      cause,
    });
  }
}
