import { type ArrayParam, bools, byteas, float8s, int2s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import type { Row } from "../connection/connections.ts";

type Rows = readonly { value: unknown }[];
type Pack = (rows: Rows) => ArrayParam;
const packed =
  <V>(pack: (rows: Rows, get: (row: { value: unknown }) => V | null) => ArrayParam): Pack =>
  (rows) =>
    pack(rows, ({ value }) => value as V | null);

/** Type of a column: type of its array parameter, and SQL to read the column `c` and to write the parameter `v`. */
interface SqlType {
  array: string;
  pack: Pack;
  read: (c: string) => string;
  write: (v: string) => string;
}

const asIs = (text: string) => text;
const plain = (array: string, pack: Pack): SqlType => ({ array, pack, read: asIs, write: asIs });

export const SQL_TYPES = {
  uuid: plain("uuid", packed(uuids)),
  text: plain("text", packed(texts)),
  int2: plain("int2", packed(int2s)),
  int4: plain("int4", packed(int4s)),
  int8: plain("int8", packed(int8s)),
  float8: plain("float8", packed(float8s)),
  bool: plain("bool", packed(bools)),
  bytea: plain("bytea", packed(byteas)),
  jsonb: { array: "text", pack: packed(texts), read: (c) => `${c}::text`, write: (v) => `${v}::jsonb` },
  hex: { array: "text", pack: packed(texts), read: (c) => `encode(${c}, 'hex')`, write: (v) => `decode(${v}, 'hex')` },
  base64: {
    array: "text",
    pack: packed(texts),
    read: (c) => `encode(${c}, 'base64')`,
    write: (v) => `decode(${v}, 'base64')`,
  },
  /** A JSON text of an array of texts. */
  list: {
    array: "text",
    pack: packed(texts),
    read: (c) => `array_to_json(${c})::text`,
    write: (v) => `CASE WHEN ${v} IS NULL THEN NULL ELSE ARRAY(SELECT json_array_elements_text(${v}::json)) END`,
  },
} as const satisfies Record<string, SqlType>;

/** A field of a row, and its column. */
export interface Column<T> {
  /** Name of the column, and SQL that reads it from the table `t`; null: the statement computes what it writes alone. */
  name: string;
  type: keyof typeof SQL_TYPES;
  /** SQL that reads the value; default: the column `t.name`. */
  read?: string;
  /** SQL that writes the column by the row `v`, whose columns have the names of fields; null: nothing is written. Default: the value. */
  write?: string | null;
  to?: (value: T) => unknown;
  from?: (value: never) => unknown;
}

export type Fields<R> = { readonly [F in keyof R]-?: Column<R[F]> };

/** A column that holds the value as it is. */
export function column<T>(name: string, type: Column<T>["type"], rest: Partial<Column<T>> = {}): Column<T> {
  return { name, type, ...rest };
}

/** A column with a JSON text. @param ofNull meaning of NULL. @param isNull whether NULL stands for a value */
export function json<T = unknown>(
  name: string,
  ofNull: unknown = null,
  isNull: (value: T) => boolean = () => false,
): Column<T> {
  return {
    name,
    type: "text",
    to: (value) => (value === null || isNull(value) ? null : JSON.stringify(value)),
    from: (text: string | null) => (text === null ? ofNull : JSON.parse(text)),
  };
}

/** A column with the number of a word. */
export function code<W extends string>(name: string, codes: Readonly<Record<W, number>>): Column<W> {
  const words = new Map(Object.entries<number>(codes).map(([word, number]) => [number, word as W]));
  return {
    name,
    type: "int2",
    to: (word) => codes[word],
    from: (number: number) => {
      const word = words.get(number);
      if (word === undefined) throw new Error(`A stored row has the unknown number ${number} in ${name}`);
      return word;
    },
  };
}

/** A table whose rows are those of a kind. */
export interface TableOf<R> {
  table: string;
  /** Unique columns, by which rows are read in order. */
  key: readonly (keyof R & string)[];
  fields: Fields<R>;
  /** SQL condition for rows `t`; default: all. */
  where?: string;
  /** SQL behind a page of the table, with further tables that leave no row out; default: none. */
  join?: string;
  /** Further columns that are written, each with its SQL by the row `v`. */
  computed?: Readonly<Record<string, string>>;
  /** Rows of one portion; default: 1,000. */
  limit?: number;
}

const LIMIT = 1_000;

/** Statement that reads the next rows. @param isFirst whether there are no rows before */
export function readStatement<R>(
  { table, key, fields, where, join = "", limit = LIMIT }: TableOf<R>,
  isFirst: boolean,
) {
  const columns = (Object.values(fields) as Column<unknown>[]).map(({ name, type, read }) =>
    read === undefined ? SQL_TYPES[type].read(`t.${name}`) : read,
  );
  const names = key.map((field) => `t.${(fields[field] as Column<unknown>).name}`).join(", ");
  const casts = key.map((field, i) => `$${i + 1}::${SQL_TYPES[(fields[field] as Column<unknown>).type].array}`);
  const after = isFirst ? "true" : `(${names}) > (${casts.join(", ")})`;
  const page = `SELECT * FROM ${table} t WHERE ${after} AND ${where ?? "true"} ORDER BY ${names} LIMIT ${limit}`;
  return `SELECT ${columns.join(", ")} FROM (${page}) t ${join} ORDER BY ${names}`;
}

/** Values of the parameters of a statement that reads on behind a row. */
export function keyOf<R>({ key, fields }: TableOf<R>, row: R): unknown[] {
  return key.map((field) => {
    const { to = asIt } = fields[field] as Column<R[typeof field]>;
    return (to as (value: unknown) => unknown)(row[field]);
  });
}

export function limitOf({ limit = LIMIT }: Pick<TableOf<unknown>, "limit">): number {
  return limit;
}

export function rowFrom<R>({ fields }: TableOf<R>, values: Row): R {
  const named = Object.entries(fields) as [string, Column<unknown>][];
  return Object.fromEntries(
    named.map(([field, { from }], i) => [field, from === undefined ? values[i] : from(values[i] as never)]),
  ) as R;
}

/** Statement that writes rows that are not there. */
export function insertStatement<R>({ table, fields, computed = {} }: TableOf<R>, rows: readonly R[]) {
  const named = Object.entries(fields) as [keyof R & string, Column<unknown>][];
  const parameters = named.map(([field, { type }], i) => `unnest($${i + 1}::${SQL_TYPES[type].array}[]) AS "${field}"`);
  const written = named.filter(([, { write }]) => write !== null);
  const columns = [...written.map(([, { name }]) => name), ...Object.keys(computed)];
  const values = [
    ...written.map(([field, { type, write }]) => write ?? SQL_TYPES[type].write(`v."${field}"`)),
    ...Object.values(computed),
  ];
  return {
    text: `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM (SELECT ${parameters.join(", ")}) v
      ON CONFLICT DO NOTHING`,
    values: named.map(([field, { type, to = asIt }]) =>
      SQL_TYPES[type].pack(rows.map((row) => ({ value: to(row[field]) ?? null }))),
    ),
  };
}

function asIt(value: unknown): unknown {
  return value;
}
