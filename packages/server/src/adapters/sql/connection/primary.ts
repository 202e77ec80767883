import { callbackify } from "node:util";
import pg from "pg";
import { storeAddresses } from "../../../ports/store-address.ts";

interface Place {
  /** Name, address, or socket folder of the server. */
  host: string;
  port: number;
}

/** Time limit of the question which server is the primary, in milliseconds: shorter than that of a whole connection. */
const ASK_TIMEOUT_MS = 2_000;
const DEFAULT_PORT = 5_432;

/** Error: the server that answered is a hot standby, which accepts no writes. */
export class IsStandby extends Error {
  override readonly name = "IsStandby";
}

/**
 * Creates clients for the primary among the servers of an address. A server that reports to be a standby is refused,
 * even if it is the only one: after a failover, a connection through a proxy would stay with the standby and read old
 * data.
 */
export class Primary {
  /** Addresses of the servers; empty: there is only one, which the client knows. */
  readonly #places: readonly Place[];
  readonly #config: pg.ClientConfig;
  /** Address of the primary; null: not known, so each server is asked first. */
  #known: Place | null = null;
  #asking: Promise<Place> | null = null;

  /** @param config credentials for the question which server is the primary */
  constructor(address: string | null, config: pg.ClientConfig) {
    const urls = address === null ? null : storeAddresses(address);
    this.#places = urls !== null && urls.length > 1 ? urls.map(placeOf) : [];
    this.#config = { ...config, connectionTimeoutMillis: ASK_TIMEOUT_MS };
  }

  /** Client class for pools, which finds the primary when it connects. */
  get Client(): typeof pg.Client {
    const find = () => this.#find();
    const forget = (place: Place | null) => this.#forget(place);
    return class extends pg.Client {
      override connect(): Promise<this>;
      override connect(callback: (error: Error) => void): void;
      override connect(callback?: (error: Error) => void): Promise<this> | void {
        const connected = this.#connect();
        if (callback === undefined) return connected;
        callbackify(() => connected)(callback);
      }

      async #connect(): Promise<this> {
        const place = await find();
        // The server may end the connection in the same packet as the greeting, before the caller listens for errors.
        this.on("error", () => undefined);
        try {
          // The base class connects to the host and port that these fields hold at that moment.
          await connectTo(this, place, () => super.connect());
        } catch (error) {
          forget(place);
          throw error;
        }
        this.once("end", () => forget(place));
        return this;
      }
    };
  }

  /** @returns address of the primary; null: there is one server only, which the client knows */
  async #find(): Promise<Place | null> {
    if (this.#places.length === 0 || this.#known !== null) return this.#known;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return await this.#asking;
  }

  #forget(place: Place | null): void {
    if (this.#known === place) this.#known = null;
  }

  /** Asks all servers at the same time, because a machine that is gone answers nothing for seconds. */
  async #ask(): Promise<Place> {
    try {
      this.#known = await Promise.any(this.#places.map((place) => this.#askOne(place)));
      return this.#known;
    } catch (error) {
      const why = (error as AggregateError).errors.map((each) => (each as Error).message).join("; ");
      throw new Error(`none of the servers is a primary that can be reached: ${why}`, { cause: error });
    }
  }

  async #askOne(place: Place): Promise<Place> {
    const client = new pg.Client(this.#config);
    client.on("error", () => undefined);
    try {
      await connectTo(client, place, () => client.connect());
      return place;
    } catch (error) {
      throw new Error(`${place.host}:${place.port}: ${(error as Error).message}`, { cause: error });
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Parts of a client that @types/pg omits: protocol messages, and the server to which the client connects. */
interface Internals {
  connection: {
    on(event: "parameterStatus", heard: (said: { parameterName: string; parameterValue: string }) => void): void;
  };
  connectionParameters: Partial<Place>;
}

/** @throws {IsStandby} the server is a standby; PostgreSQL 14 and newer say so in their greeting */
async function connectTo(client: pg.Client, place: Place | null, connect: () => Promise<unknown>): Promise<void> {
  const { connection, connectionParameters } = client as unknown as Internals;
  if (place !== null) {
    Object.assign(client, place);
    Object.assign(connectionParameters, place);
  }
  let isStandby = false;
  connection.on("parameterStatus", ({ parameterName, parameterValue }) => {
    if (parameterName === "in_hot_standby") isStandby = parameterValue === "on";
  });
  await connect();
  if (!isStandby) return;
  client.end().catch(() => undefined);
  throw new IsStandby("the server is a read-only standby");
}

function placeOf(url: string): Place {
  const { hostname, port } = new URL(url);
  const host = decodeURIComponent(hostname.replace(/^\[(.+)\]$/, "$1"));
  return { host, port: port === "" ? DEFAULT_PORT : Number(port) };
}
