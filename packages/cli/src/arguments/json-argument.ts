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
  const hint = `give JSON ('{"ms": 5}'; a text in quotes: '"hello"'), @file, or - for standard input`;
  return parsed(name, await textOf(name, source), hint);
}

/**
 * Reads a file of JSON, or standard input.
 * @param path path of the file; `-`: standard input
 * @param content name of the content, for messages
 * @throws {Failure} the file cannot be read or is not JSON
 */
async function readJsonFile(path: string, content: string): Promise<unknown> {
  const hint = `give a file with ${content}, or - for standard input`;
  const json = path === "-" ? await text(process.stdin) : await contentOf(path, "", `; ${hint}`);
  return parsed(fileName(path), json, hint);
}

/**
 * Reads a file of YAML or JSON, by its ending, or JSON from standard input.
 * @param path path of the file; `.yaml` and `.yml` are YAML; `-`: standard input
 * @param content name of the content, for messages
 * @throws {Failure} the file cannot be read, or is not what its ending says
 */
export async function readDataFile(path: string, content: string): Promise<unknown> {
  if (!/[.]ya?ml$/i.test(path)) return await readJsonFile(path, `the JSON of ${content}`);
  const text = await contentOf(path, "", `; give a file with ${content}`);
  // Only these files need the parser, which takes a while to load.
  const { parse } = await import("yaml");
  try {
    return parse(text) as unknown;
  } catch (error) {
    throw new Failure(`${path} is not YAML: ${messageOf(error)}`, EXIT.usage);
  }
}

/** Name of a file for messages. */
export function fileName(path: string): string {
  return path === "-" ? "standard input" : path;
}

function parsed(name: string, json: string, hint: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new Failure(`${name} is not JSON: ${messageOf(error)}; ${hint}`, EXIT.usage);
  }
}

async function textOf(name: string, source: string): Promise<string> {
  if (source === "-") return await text(process.stdin);
  return source.startsWith("@") ? await contentOf(source.slice(1), `${name}: `, "") : source;
}

async function contentOf(path: string, before: string, after: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new Failure(before + messageOf(error) + after, EXIT.usage);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
