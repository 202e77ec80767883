import { MainspringError } from "../errors.ts";

declare const value: unique symbol;

/** A value of type T that exists only while a run goes on. The compiler alone knows the member. */
export interface Reference<T> {
  readonly [value]: T;
}

/**
 * The result of a node, the input of a run, or a part of one of them. Its members are references to the members of the
 * value: `rows.first` stands for the member `first`. A member that may be missing is a reference to the value that it has
 * if it is there: if it is missing then, the node that needs it is DEAD with the reason REFERENCE_NOT_FOUND.
 */
export type Ref<T> = 0 extends 1 & T ? T : Reference<T> & RefParts<T>;

type RefParts<T> = unknown extends T ? unknown : [T] extends [never] ? unknown : PartsOf<NonNullable<T>>;
type PartsOf<T> = [T] extends [readonly unknown[]]
  ? { readonly [K in Exclude<keyof T, keyof unknown[]>]: Ref<T[K]> } & { readonly [index: number]: Ref<T[number]> }
  : [T] extends [object]
    ? { readonly [K in keyof T]-?: Ref<Exclude<T[K], undefined>> }
    : unknown;

/** A value of type T, in which references may stand for values at any depth. */
export type WithRefs<T> =
  | Ref<T>
  | (T extends ((...args: never[]) => unknown) | { toJSON(...args: never[]): unknown }
      ? T
      : T extends object
        ? { [K in keyof T]: WithRefs<T[K]> }
        : T);

type Path = readonly (string | number)[];

/** A reference as the server takes it. */
export type RefJson =
  | { $from: string; path?: Path }
  | { $results: string }
  | { $item: true; path?: Path }
  | { $index: true };

/** Facts about a reference. */
export interface RefFacts {
  /** Workflow that the reference belongs to. */
  owner: object;
  /** Name of the node; "$input": the input of the run. */
  from: string;
  /** Value for which it stands: the result of a node or the input (default), the results of a map, or an item of one. */
  kind?: "RESULTS" | "ITEM" | "INDEX";
  path: Path;
  /** Whether the value is null if the node has no result. */
  isOptional: boolean;
}

const FACTS = new WeakMap<object, RefFacts>();
const INDEX = /^(0|[1-9]\d{0,9})$/;

/** @returns null: the value is no reference */
export function factsOf(candidate: unknown): RefFacts | null {
  return typeof candidate === "object" && candidate !== null ? (FACTS.get(candidate) ?? null) : null;
}

/** @returns a proxy, each member of which is a reference to a part */
export function refOf<T>(facts: RefFacts): Ref<T> {
  const ref: object = new Proxy(Object.freeze({}), {
    get: (_, member) => (typeof member === "symbol" ? noValue(facts, member) : memberOf(facts, member)),
    ownKeys: () => refuse(facts, "it cannot be copied or listed"),
  });
  FACTS.set(ref, facts);
  return ref as Ref<T>;
}

export function partOf<T>(facts: RefFacts, step: string | number): Ref<T> {
  if (facts.kind === "RESULTS") return refuse(facts, "a part of the results of a map cannot be named");
  return refOf({ ...facts, path: [...facts.path, step] });
}

export function jsonOf({ from, kind, path }: RefFacts): RefJson {
  if (kind === "RESULTS") return { $results: from };
  if (kind === "INDEX") return { $index: true };
  const part = path.length === 0 ? {} : { path };
  return kind === "ITEM" ? { $item: true, ...part } : { $from: from, ...part };
}

function memberOf(facts: RefFacts, member: string): unknown {
  if (member === "toJSON") return () => jsonOf(facts);
  return partOf(facts, INDEX.test(member) ? Number(member) : member);
}

/** Code that takes a reference for its value reads one of these members. */
function noValue(facts: RefFacts, member: symbol): undefined {
  if (member === Symbol.toPrimitive) return refuse(facts, "it is neither a text nor a number");
  if (member === Symbol.iterator) return refuse(facts, "it cannot be iterated");
  return undefined;
}

function refuse({ from, path }: RefFacts, why: string): never {
  const shown = [from, ...path].join(".");
  const right = "Give it to a node, whose handler gets the value";
  const about = `the reference ${shown} has no value until the workflow runs`;
  throw new MainspringError("BAD_OPTION", `${about}, so ${why}. ${right}`);
}
