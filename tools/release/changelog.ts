const UNRELEASED = "## Unreleased\n";

/**
 * The changelog with a heading for a version above what was unreleased, and an empty part for what comes next.
 * @param date as 2026-03-01
 * @throws {Error} nothing is unreleased
 */
export function releasedChangelog(text: string, version: string, date: string): string {
  const [before, after, ...more] = text.split(UNRELEASED);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error('CHANGELOG.md has not exactly one heading "## Unreleased"');
  if (partOf(after).trim() === "")
    throw new Error("CHANGELOG.md says nothing below Unreleased: there is nothing to release");
  return `${before}${UNRELEASED}\n## ${version} - ${date}\n${after}`;
}

/** Text up to the next heading of a version. */
function partOf(text: string): string {
  return text.split(/^## /m)[0] ?? "";
}
