/** Place to which the palette leads. */
export interface Destination {
  kind: "page" | "execution" | "job" | "workflow" | "pool" | "handler";
  text: string;
  path: readonly string[];
  query: Readonly<Record<string, string>>;
}

/** Destinations that the palette lists at once. */
const SHOWN_MAX = 20;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PAGES_OF_IDS = [
  ["execution", "executions"],
  ["job", "jobs"],
  ["workflow", "workflows"],
] as const;

/** Destinations for a text: those that begin with it first, then those that contain it. An id leads to each kind of page of an id. */
export function matching(text: string, known: readonly Destination[]): Destination[] {
  const wanted = text.trim().toLowerCase();
  if (ID.test(wanted))
    return PAGES_OF_IDS.map(([kind, page]) => ({ kind, text: wanted, path: [page, wanted], query: {} }));
  const found = known.filter((one) => one.text.toLowerCase().includes(wanted));
  const begins = (one: Destination) => one.text.toLowerCase().startsWith(wanted);
  return [...found.filter(begins), ...found.filter((one) => !begins(one))].slice(0, SHOWN_MAX);
}
