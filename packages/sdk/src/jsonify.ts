type Unsayable = undefined | symbol | bigint | ((...args: never[]) => unknown);

/** An item of a list: JSON has null where the item cannot be said. */
type Item<T> = T extends Unsayable ? null : Jsonify<T>;

/** Keys of an object that JSON can have. */
type Sayable<T> = { [K in keyof T]-?: K extends symbol ? never : [T[K]] extends [Unsayable] ? never : K }[keyof T];
/** Keys that may be missing in JSON. */
type Droppable<T> = { [K in Sayable<T>]: Extract<T[K], Unsayable> extends never ? never : K }[Sayable<T>];

type JsonObject<T> = { [K in Exclude<Sayable<T>, Droppable<T>>]: Jsonify<T[K]> } & {
  [K in Droppable<T>]?: Jsonify<Exclude<T[K], Unsayable>>;
};
type Flat<T> = { [K in keyof T]: T[K] };

/**
 * The type that a value has when it arrives as JSON: a `Date` is a text, an object with `toJSON` is its answer, fields that are
 * undefined or functions are missing, a `Map` is empty.
 */
export type Jsonify<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null
    ? T
    : T extends Unsayable
      ? never
      : T extends { toJSON(...args: never[]): infer J }
        ? Jsonify<J>
        : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
          ? Record<string, never>
          : T extends readonly unknown[]
            ? { -readonly [K in keyof T]: Item<T[K]> }
            : T extends object
              ? Flat<JsonObject<T>>
              : never;

/** The result of a handler as it arrives; one that returns nothing has null. */
export type ResultOf<R> = unknown extends R ? R : R extends undefined | void ? null : Jsonify<R>;
