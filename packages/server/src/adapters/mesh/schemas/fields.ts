import { type Static, type TSchema, Type } from "typebox";
import { SHARD_COUNT } from "../../../domain/ids.ts";

/** A message as JSON carries it: bytes are beside the JSON, and their field holds the number of the attachment. */
export type Wire<T> = T extends Uint8Array
  ? number
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { -readonly [Field in keyof T]: Wire<T[Field]> }
      : T;

/** One schema for each kind of message. A kind without a schema, or with a wrong one, does not compile. */
export type SchemasOf<M extends { kind: string }> = { [Kind in M["kind"]]: SchemaOf<Extract<M, { kind: Kind }>> };
type SchemaOf<M> = TSchema & { "~wire"?: Wire<M> };

/** Compiles only if both types are equal, because a schema with fewer fields would drop the others silently. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** @param schema schema whose values are the JSON form of a `T`; a newer node may send more fields */
export function schemaOf<T>() {
  return <S extends TSchema>(
    schema: S & (Same<Static<S>, Wire<T>> extends true ? unknown : never),
  ): TSchema & { "~wire"?: Wire<T> } => schema;
}

export const Id = Type.String({ minLength: 1, maxLength: 256 });
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
export const Shard = Type.Integer({ minimum: 0, maximum: SHARD_COUNT - 1 });
export const Instant = Type.Number();
/** Number of an attachment. */
export const Bytes = nullable(Count);

export function nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

export function oneOf<const T extends readonly string[]>(...values: T) {
  return Type.Unsafe<T[number]>({ type: "string", enum: values });
}

export const tokenFields = { shard: Shard, executionId: Id, attempt: Count };
export const TokenSchema = Type.Object(tokenFields);
