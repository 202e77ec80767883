const HIDDEN = "(hidden)";
const SECRET_NAME = /key|secret|password|passwd|token/i;

/** A setting as it may be shown. By its name, so that a secret that is added later is hidden as well. */
export function shown(name: string, value: string): string {
  if (SECRET_NAME.test(name)) return HIDDEN;
  return value.includes("://") ? withoutPassword(value) : value;
}

function withoutPassword(text: string): string {
  const url = URL.parse(text);
  // Where a password would stand in it is not known.
  if (url === null) return HIDDEN;
  if (url.password !== "") url.password = "hidden";
  for (const name of new Set(url.searchParams.keys())) {
    if (SECRET_NAME.test(name)) url.searchParams.set(name, "hidden");
  }
  return url.href;
}
