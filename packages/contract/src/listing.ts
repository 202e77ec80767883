import { type TSchema, Type } from "typebox";
import { Line, named, orNull } from "./fields.ts";
import { PAGE_ITEMS_MAX } from "./limits.ts";

export const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_ITEMS_MAX, description: "items a page; default 50" })),
  cursor: Type.Optional(Type.String({ maxLength: 256, description: "`nextCursor` of the page before" })),
};

export const IdPrefix = Type.Optional(
  Type.String({
    pattern: "^[0-9a-fA-F-]{1,36}$",
    description: "only those whose id begins with it, as 01890a5d-ac; the dashes may be left out",
  }),
);

/** Largest number that a bounded count names. A count also examines at most so many rows. */
export const COUNTED_MAX = 10_000;

export const LabelFilter = Type.Optional(
  Type.Array(Line("`key` or `key=value`"), {
    maxItems: 8,
    description: "labels that the job must have, all of them: `key` or `key=value`; may be repeated, up to 8",
  }),
);

/** A page of a list. */
export function pageOf<T extends TSchema>(title: string, item: T) {
  return named(title, {
    items: Type.Array(item),
    nextCursor: orNull(
      Type.String(),
      "what to pass as `cursor` for the next page, which may follow a page that is short or empty; null: there is none",
    ),
  });
}
