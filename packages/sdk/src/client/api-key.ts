import { readFileSync } from "node:fs";
import { MainspringError } from "../errors.ts";
import { headerValue } from "./headers.ts";

/** API key of a client or worker: the key, or a function that tells it. */
export type ApiKeyOption = string | (() => string | Promise<string>);

/** API key of requests and connections. A key from a function or a file is read again when a server refuses it. */
export class ApiKeySource {
  readonly #read: (() => string | Promise<string>) | null;
  #key: string | null | undefined;
  #reading: Promise<string | null> | null = null;

  /** @param read null: the key does not change */
  constructor(key: string | null | undefined, read: (() => string | Promise<string>) | null) {
    this.#key = key;
    this.#read = read;
  }

  /**
   * The key; null: none.
   * @throws {MainspringError} UNAUTHENTICATED: the function or the file tells no key
   */
  current(): string | null | Promise<string | null> {
    return this.#key === undefined ? this.#again() : this.#key;
  }

  /**
   * Reads the key again, because a server has refused it.
   * @param refused key that was sent
   * @returns whether there is another key now
   * @throws {MainspringError} UNAUTHENTICATED: the function or the file tells no key
   */
  async refused(refused: string | null): Promise<boolean> {
    if (this.#read === null) return false;
    // Another request may have read it meanwhile.
    if (this.#key === refused) await this.#again();
    return this.#key !== refused;
  }

  /** Requests that are refused together share one reading. */
  #again(): Promise<string | null> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<string | null> {
    let key: string;
    try {
      key = (await this.#read?.())?.trim() ?? "";
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new MainspringError("UNAUTHENTICATED", `the API key could not be read: ${why}`, { cause });
    }
    this.#key = key === "" ? null : headerValue("apiKey", key);
    return this.#key;
  }
}

/**
 * Source of the API key, by default from the environment: the file of MAINSPRING_API_KEY_FILE, or MAINSPRING_API_KEY. An empty
 * key is none.
 * @throws {MainspringError} BAD_OPTION: the key is no value of a header
 */
export function apiKeySource(given: ApiKeyOption | undefined): ApiKeySource {
  if (typeof given === "function") return new ApiKeySource(undefined, given);
  const file = process.env.MAINSPRING_API_KEY_FILE ?? "";
  if (given === undefined && file !== "") return new ApiKeySource(undefined, () => readFileSync(file, "utf8"));
  const key = given ?? process.env.MAINSPRING_API_KEY ?? "";
  return new ApiKeySource(key === "" ? null : headerValue("apiKey", key), null);
}
