import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RedisAnswer, RedisCommand } from "./redis-connection.ts";

const FOLDER = join(import.meta.dirname, "lua");

/** Name of the library. Functions of a later version have other names, so nodes of two releases use their own beside each other. */
const NAME = "ms_v1";

/** Text of the library: the files of the folder `lua`, in the order of their numbers. */
export const LIBRARY = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".lua"))
  .sort((a, b) => Number.parseInt(a) - Number.parseInt(b))
  .map((name) => readFileSync(join(FOLDER, name), "utf8"))
  .join("");

/** Loads the library into a Redis that does not have it, or has another text of it. */
export async function loadLibrary(send: (command: RedisCommand) => Promise<RedisAnswer>, text: string): Promise<void> {
  const [known] = (await send(["FUNCTION", "LIST", "LIBRARYNAME", NAME, "WITHCODE"])) as RedisAnswer[][];
  const code = known?.[known.findIndex((field) => String(field) === "library_code") + 1];
  if (code === undefined || String(code) !== text) await send(["FUNCTION", "LOAD", "REPLACE", text]);
}
