import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";

/**
 * Reads the value of an argument: JSON itself, `@file`, or `-` for standard input.
 * @param name name of the argument, for messages
 * @throws {Failure} the value cannot be read or is not JSON
 */
export async function readJson(name: string, source: string): Promise<unknown> {
  const json = await textOf(name, source);
  try {
    return JSON.parse(json);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const hint = `give JSON ('{"ms": 5}'; a text in quotes: '"hello"'), @file, or - for standard input`;
    throw new Failure(`${name} is not JSON: ${reason}; ${hint}`, EXIT.usage);
  }
}

async function textOf(name: string, source: string): Promise<string> {
  if (source === "-") return await text(process.stdin);
  if (!source.startsWith("@")) return source;
  try {
    return await readFile(source.slice(1), "utf8");
  } catch (error) {
    throw new Failure(`${name}: ${error instanceof Error ? error.message : String(error)}`, EXIT.usage);
  }
}
