import { type TSchema, Type } from "typebox";
import type { IdRange } from "../../ports/store-queries.ts";
import { orNull } from "./fields.ts";

export const LIMIT_DEFAULT = 50;

export const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: "items a page; default 50" })),
  cursor: Type.Optional(Type.String({ maxLength: 256, description: "`nextCursor` of the page before" })),
};

export const IdPrefix = Type.Optional(
  Type.String({
    pattern: "^[0-9a-fA-F-]{1,36}$",
    description: "only those whose id begins with it, as 01890a5d-ac; the dashes may be left out",
  }),
);

/** Ids with this beginning, as a range of the key. */
export function idsWith(prefix: string): IdRange {
  const digits = prefix.replaceAll("-", "").toLowerCase().slice(0, 32);
  const whole = (fill: string) =>
    digits.padEnd(32, fill).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { first: whole("0"), last: whole("f") };
}

/** A page of a list, newest first. */
export function pageOf<T extends TSchema>(item: T) {
  return Type.Object({
    items: Type.Array(item),
    nextCursor: orNull(
      Type.String(),
      "what to pass as `cursor` for the next page, which may follow a page that is short or empty; null: there is none",
    ),
  });
}
