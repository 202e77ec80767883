/** The version of the IANA time zone database that this process computes with, as `2026c`. */
export function timeZoneDataVersion(): string {
  // Node is built with ICU, which brings the database; without it there would be no zones at all.
  return process.versions.tz ?? "none";
}
