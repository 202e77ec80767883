/** Address of a database in ClickHouse, as MAINSPRING_CLICKHOUSE names it. */
export interface ClickHouseAddress {
  /** Scheme, host and port; without user and password, so that messages may show it. */
  url: string;
  username: string;
  password: string;
  database: string;
}

/** Form of MAINSPRING_CLICKHOUSE, for messages. */
export const CLICKHOUSE_URL = "a URL such as http://user:password@host:8123/database, or https://…";

/**
 * Parses the address of a database in ClickHouse: `http://user:password@host:8123/database`. The user is `default` and the
 * password empty where the URL has none; the database must be named with letters, digits and `_`.
 * @returns null: the text is not one
 */
export function clickHouseAddress(text: string): ClickHouseAddress | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") return null;
  const [, database] = /^\/([A-Za-z_][A-Za-z0-9_]{0,62})\/?$/.exec(url.pathname) ?? [];
  const [username, password] = [decoded(url.username), decoded(url.password)];
  if (database === undefined || username === null || password === null) return null;
  return { url: url.origin, username: username || "default", password, database };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
