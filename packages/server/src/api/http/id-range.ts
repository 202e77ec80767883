import type { IdRange } from "../../ports/store-queries.ts";

/** Range of the ids with this prefix. */
export function idsWith(prefix: string): IdRange {
  const digits = prefix.replaceAll("-", "").toLowerCase().slice(0, 32);
  const whole = (fill: string) =>
    digits.padEnd(32, fill).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { first: whole("0"), last: whole("f") };
}
