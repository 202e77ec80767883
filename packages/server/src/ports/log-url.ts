/** Placeholders of MAINSPRING_LOG_URL: the address at which another system shows the log lines of an attempt. */
export const LOG_URL_PLACEHOLDERS = ["executionId", "attempt", "jobId", "startedAt", "finishedAt"] as const;

export type LogUrlValues = Record<(typeof LOG_URL_PLACEHOLDERS)[number], string>;

/** Fills in a template that `logUrlFault` has found no fault in. */
export function filledLogUrl(template: string, values: LogUrlValues): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: keyof LogUrlValues) => encodeURIComponent(values[name]));
}

/** Fault of a template, for people; null: none. */
export function logUrlFault(template: string): string | null {
  const rest = template.replaceAll(/\{(\w+)\}/g, (all, name: string) => (isPlaceholder(name) ? "0" : all));
  const [unknown] = /\{[^{}]*\}?|\}/.exec(rest) ?? [];
  if (unknown !== undefined) return unknown;
  const url = URL.canParse(rest) ? new URL(rest) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return "";
  // Every client of the API sees the address.
  return url.username + url.password === "" ? null : "one with a password";
}

function isPlaceholder(name: string): boolean {
  return (LOG_URL_PLACEHOLDERS as readonly string[]).includes(name);
}
