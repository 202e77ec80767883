import { type TSchema, Type } from "typebox";
import { orNull } from "./fields.ts";

export const LIMIT_DEFAULT = 50;

export const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: "items a page; default 50" })),
  cursor: Type.Optional(Type.String({ maxLength: 256, description: "`nextCursor` of the page before" })),
};

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
