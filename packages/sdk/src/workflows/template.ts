import { MainspringError } from "../errors.ts";
import { factsOf, jsonOf, type RefFacts } from "./ref.ts";

/** Levels of arrays and objects in a payload, as the server takes them. */
const TEMPLATE_DEPTH_MAX = 128;

/** Hears each reference of a template. */
export type OnRef = (facts: RefFacts, path: string) => void;

/**
 * Turns a value into JSON as `JSON.stringify` does, with references in the form of the server. An object with a key that
 * begins with `$` becomes a literal, which the server takes as it is.
 * @param place name of the value, for errors
 * @param onRef called for each reference with its place
 * @returns undefined: JSON has no text for the value
 * @throws {MainspringError} INVALID_PAYLOAD
 */
export function templateOf(given: unknown, place: string, onRef: OnRef): unknown {
  return partOf(given, { place, depth: 0, onRef });
}

interface At {
  place: string;
  depth: number;
  onRef: OnRef;
}

function partOf(given: unknown, at: At): unknown {
  const facts = factsOf(given);
  if (facts !== null) {
    at.onRef(facts, at.place);
    return jsonOf(facts);
  }
  const value = hasToJson(given) ? given.toJSON(at.place) : given;
  if (typeof value === "bigint") throw invalid(`${at.place} is a bigint, for which JSON has no form`);
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (["function", "symbol"].includes(typeof value)) return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (at.depth >= TEMPLATE_DEPTH_MAX)
    throw invalid(`${at.place} is nested deeper than ${TEMPLATE_DEPTH_MAX} levels, or contains itself`);
  return Array.isArray(value) ? listOf(value, at) : objectOf(value, at);
}

function hasToJson(given: unknown): given is { toJSON(key: string): unknown } {
  return typeof given === "object" && given !== null && "toJSON" in given && typeof given.toJSON === "function";
}

function listOf(items: readonly unknown[], at: At): unknown[] {
  return Array.from(items, (item, index) => partOf(item, inside(at, `[${index}]`)) ?? null);
}

function objectOf(object: object, at: At): object {
  const reserved = Object.keys(object).find((key) => key.startsWith("$"));
  const onRef: OnRef = (facts, path) => {
    if (reserved === undefined) return at.onRef(facts, path);
    const right = "the server takes an object with such a key as it is. Move the reference to another object";
    throw invalid(`${path} is a reference beside the key ${JSON.stringify(reserved)}: ${right}`);
  };
  const levels = { ...at, onRef };
  const members = Object.entries(object)
    .map(([key, member]) => [key, partOf(member, inside(levels, `.${key}`))] as const)
    .filter(([, member]) => member !== undefined);
  return reserved === undefined ? Object.fromEntries(members) : { $literal: plainOf(object) };
}

/** Nothing within a literal is a reference, so its own literals stay as they are, too. */
function plainOf(object: object): unknown {
  return JSON.parse(JSON.stringify(object));
}

function inside({ place, depth, onRef }: At, step: string): At {
  return { place: `${place}${step}`, depth: depth + 1, onRef };
}

function invalid(message: string): MainspringError {
  return new MainspringError("INVALID_PAYLOAD", message);
}
