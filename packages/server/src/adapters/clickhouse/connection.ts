import { Readable } from "node:stream";
import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import type { ClickHouseAddress } from "../../ports/clickhouse-address.ts";
import { SinkRefused, SinkUnavailable } from "../../ports/event-sink.ts";

/** Time limit of a request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Oldest version whose views and inserts the tables need. */
const OLDEST = [24, 3] as const;

/** Codes of ClickHouse that a person has to resolve, with what to do. */
const REMEDIES: Readonly<Record<string, (address: ClickHouseAddress) => string>> = {
  516: ({ username }) => `it does not accept the password of the user ${username}; correct MAINSPRING_CLICKHOUSE`,
  497: ({ username, database }) =>
    `the user ${username} lacks a right; run GRANT SELECT, INSERT ON ${database}.* TO ${username} there, and for \`mainspring clickhouse migrate\` also CREATE TABLE, CREATE VIEW, DROP VIEW`,
  81: ({ database }) => `it has no database ${database}; run \`mainspring clickhouse migrate\``,
  60: ({ database }) => `the database ${database} lacks the tables; run \`mainspring clickhouse migrate\``,
};

/** Connection to a database in ClickHouse. Every failure is SinkRefused or SinkUnavailable, and none has the password. */
export class Connection {
  readonly address: ClickHouseAddress;
  readonly #client: ClickHouseClient;
  readonly #ending = new AbortController();

  /** @param database database of the statements; left out: that of the address */
  constructor(address: ClickHouseAddress, database = address.database) {
    this.address = address;
    this.#client = createClient({
      ...{ url: address.url, username: address.username, password: address.password, database },
      application: "mainspring",
      request_timeout: REQUEST_TIMEOUT_MS,
      max_open_connections: 2,
      log: { level: ClickHouseLogLevel.OFF },
      clickhouse_settings: { async_insert: 0, wait_end_of_query: 1 },
    });
  }

  /** Rows of a query, each an object with the columns. */
  rows<T>(query: string): Promise<T[]> {
    return this.#run(async (abort_signal) => {
      const found = await this.#client.query({ query, format: "JSONEachRow", abort_signal });
      return found.json<T>();
    });
  }

  /** Runs a statement without an answer. */
  command(query: string): Promise<void> {
    return this.#run(async (abort_signal) => void (await this.#client.command({ query, abort_signal })));
  }

  /**
   * Inserts rows. Resolves when the server has written them.
   * @param lines lines of JSON, one for each row, in texts of any number of lines
   * @param token equal for equal rows, so that the server recognises a repeat
   */
  insert(table: string, columns: readonly string[], lines: Iterable<string>, token: string): Promise<void> {
    return this.#run(async (abort_signal) => {
      const { stream } = await this.#client.exec({
        query: `INSERT INTO ${table} (${columns.join(", ")}) FORMAT JSONEachRow`,
        values: Readable.from(lines, { objectMode: false }),
        clickhouse_settings: { insert_deduplication_token: token },
        abort_signal,
      });
      await stream.resume().toArray();
    });
  }

  /** @throws {SinkRefused} the server is older than 24.3 */
  async requireVersion(): Promise<void> {
    const [row] = await this.rows<{ version: string }>("SELECT version() AS version");
    const version = row?.version ?? "";
    const [year = 0, month = 0] = version.split(".").map(Number);
    if (year > OLDEST[0] || (year === OLDEST[0] && month >= OLDEST[1])) return;
    throw new SinkRefused(`${this.#name()} has the version ${version}; Mainspring needs 24.3 or newer`);
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#client.close();
  }

  async #run<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#ending.signal.aborted) throw new SinkUnavailable("the connection to ClickHouse is closed");
    try {
      return await request(this.#ending.signal);
    } catch (cause) {
      throw this.#fault(cause);
    }
  }

  #fault(cause: unknown): Error {
    if (this.#ending.signal.aborted) return new SinkUnavailable("the connection to ClickHouse is closed", { cause });
    if (!(cause instanceof ClickHouseError)) {
      return new SinkUnavailable(`${this.#name()} does not answer: ${causeText(cause)}`, { cause });
    }
    const remedy = REMEDIES[cause.code];
    if (remedy !== undefined) return new SinkRefused(`${this.#name()}: ${remedy(this.address)}`, { cause });
    const type = cause.type === undefined ? "" : ` ${cause.type}`;
    return new SinkUnavailable(`${this.#name()} refused with code ${cause.code}${type}`, { cause });
  }

  #name(): string {
    return `ClickHouse at ${this.address.url}`;
  }
}

/** A failed connection to a name with several addresses has no message of its own. */
function causeText(cause: unknown): string {
  const { message, code } = cause as Partial<NodeJS.ErrnoException>;
  return (message || code || String(cause)).split("\n", 1)[0] ?? "";
}
