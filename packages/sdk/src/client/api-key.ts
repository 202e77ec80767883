import { readFileSync, statSync } from "node:fs";
import { MainspringError } from "../errors.ts";
import { headerValue } from "./headers.ts";

/** API key of a client or worker: the key, or a function that tells it. */
export type ApiKeyOption = string | (() => string | Promise<string>);

/** A file with a key. */
interface KeyFile {
  /** Whether the file is another one than at the last call. The answer of a file that cannot be looked at is no. */
  hasChanged(): boolean;
}

/**
 * API key of requests and connections. A key from a function or a file is read again when a server refuses it, and one from a file
 * also when the file changes.
 */
export class ApiKeySource {
  readonly #read: (() => string | Promise<string>) | null;
  readonly #file: KeyFile | null;
  #key: string | null | undefined;
  #reading: Promise<string | null> | null = null;

  /**
   * @param read null: the key does not change
   * @param file null: only a refusal makes it read the key again
   */
  constructor(
    key: string | null | undefined,
    read: (() => string | Promise<string>) | null,
    file: KeyFile | null = null,
  ) {
    this.#key = key;
    this.#read = read;
    this.#file = file;
  }

  /**
   * The key; null: none.
   * @throws {MainspringError} UNAUTHENTICATED: the function or the file tells no key
   */
  current(): string | null | Promise<string | null> {
    const isOld = this.#file?.hasChanged() === true || this.#key === undefined;
    return isOld ? this.#again() : (this.#key as string | null);
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
  if (given === undefined && file !== "")
    return new ApiKeySource(undefined, () => readFileSync(file, "utf8"), keyFile(file));
  const key = given ?? process.env.MAINSPRING_API_KEY ?? "";
  return new ApiKeySource(key === "" ? null : headerValue("apiKey", key), null);
}

/** Looks at the identity, the time and the size of a file. Mounted secrets are replaced, so the file is another one then. */
function keyFile(path: string): KeyFile {
  let seen = markOf(path);
  return {
    hasChanged: () => {
      const mark = markOf(path);
      if (mark === null || mark === seen) return false;
      seen = mark;
      return true;
    },
  };
}

function markOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.ino} ${found.mtimeMs} ${found.size}`;
}
