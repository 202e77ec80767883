import { computed, signal } from "@preact/signals";

/** Place in the console: the part of the address behind `#`, which no server sees and every proxy leaves as it is. */
export interface Route {
  /** Parts of the path, as ["executions", ID]. */
  path: readonly string[];
  query: Readonly<Record<string, string>>;
}

/** Reads a place. Unknown text leads to a path that no page has, never to an error. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export type Query = Readonly<Record<string, string | undefined>>;

/** Link to a place. Fields of the query without a value are left out. */
export function hrefOf(path: readonly string[], query: Query = {}): string {
  const fields = Object.entries(query).filter((field): field is [string, string] => Boolean(field[1]));
  const text = new URLSearchParams(fields).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

export const route = signal<Route>({ path: [], query: {} });
/** Tenant for which an operator acts; left out: the own one. Each link keeps it. */
export const tenant = computed(() => route.value.query["tenant"]);

/** Link to a place for the tenant of the present one. */
export function linkTo(path: readonly string[], query: Query = {}): string {
  return hrefOf(path, { tenant: tenant.value, ...query });
}

/** Changes fields of the query of the present place, and begins with the first page of its list. */
export function narrow(fields: Query): void {
  const { path, query } = route.value;
  location.hash = hrefOf(path, { ...query, cursor: undefined, ...fields });
}

/** Follows the address of the window. */
export function followAddress(): void {
  const read = () => {
    route.value = parseRoute(location.hash);
  };
  addEventListener("hashchange", read);
  read();
}
