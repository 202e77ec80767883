/** Scheme, user with password, hosts with ports, and the rest. */
const PARTS = /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#@]*)(.*)$/is;

/**
 * The addresses that a URL of PostgreSQL names: one URL for each of its hosts, which are separated by commas as in
 * libpq (postgres://user@db1:5432,db2:5432/database).
 * @returns null: `text` is not a URL of PostgreSQL
 */
export function storeAddresses(text: string): [string, ...string[]] | null {
  const [, scheme = "", user = "", hosts = "", rest = ""] = PARTS.exec(text) ?? [];
  if (scheme === "") return null;
  const [first = "", ...others] = hosts.split(",").map((host) => `${scheme}${user}${host}${rest}`);
  const isSound = [first, ...others].every((url) => URL.canParse(url));
  const isComplete = others.length === 0 || hosts.split(",").every((host) => host !== "");
  return isSound && isComplete ? [first, ...others] : null;
}
