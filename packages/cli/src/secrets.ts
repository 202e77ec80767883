const HIDDEN = "(hidden)";
const SECRET_NAME = /key(?!s_)|secret|password|passwd|token/i;

/**
 * Value of a setting that is safe to show. Secrets are recognised by their names, so that a secret that is added later
 * is hidden as well.
 */
export function shown(name: string, value: string): string {
  if (SECRET_NAME.test(name)) return HIDDEN;
  return value.includes("://") ? withoutPassword(value) : value;
}

/** Several hosts in PostgreSQL's form, which is no valid URL. */
const HOSTS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*,[^/?#@]*)(?=[/?#]|$)/i;
const STAND_IN = "hosts.invalid";

function withoutPassword(text: string): string {
  const [whole = "", before = "", hosts = ""] = HOSTS.exec(text) ?? [];
  if (hosts !== "") return withoutPassword(before + STAND_IN + text.slice(whole.length)).replace(STAND_IN, () => hosts);
  const url = URL.parse(text);
  // The position of a password in such a text is unknown.
  if (url === null) return HIDDEN;
  if (url.password !== "") url.password = "hidden";
  for (const name of new Set(url.searchParams.keys())) {
    if (SECRET_NAME.test(name)) url.searchParams.set(name, "hidden");
  }
  return url.href;
}
