const HIDDEN = "(hidden)";
const SECRET_NAME = /key|secret|password|passwd|token/i;

/** A setting as it may be shown. Tells a secret by its name, so that a secret that is added later is hidden as well. */
export function shown(name: string, value: string): string {
  if (SECRET_NAME.test(name)) return HIDDEN;
  return value.includes("://") ? withoutPassword(value) : value;
}

/** Several hosts as PostgreSQL has them, which are no URL. */
const HOSTS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*,[^/?#@]*)(?=[/?#]|$)/i;
const STAND_IN = "hosts.invalid";

function withoutPassword(text: string): string {
  const [whole = "", before = "", hosts = ""] = HOSTS.exec(text) ?? [];
  if (hosts !== "") return withoutPassword(before + STAND_IN + text.slice(whole.length)).replace(STAND_IN, () => hosts);
  const url = URL.parse(text);
  // Where a password would stand in it is not known.
  if (url === null) return HIDDEN;
  if (url.password !== "") url.password = "hidden";
  for (const name of new Set(url.searchParams.keys())) {
    if (SECRET_NAME.test(name)) url.searchParams.set(name, "hidden");
  }
  return url.href;
}
