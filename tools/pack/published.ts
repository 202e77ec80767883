/** Packages that are published: folders of `packages`, each behind those that it depends on. */
export const PUBLISHED = ["tzdata", "contract", "proto", "sdk", "server", "testkit", "cli"] as const;

/** Packages that are published as CommonJS too. The others are ES modules, which `require` loads since Node 20.19 and 22.12. */
export const WITH_COMMONJS: readonly string[] = ["proto", "sdk"];

/** Doors that only the repository has: test support, which imports files that are not published. */
const REPOSITORY_ONLY: readonly string[] = ["@mainspring/server/testing"];

/** Whether an export of a package is published. @param door as in its package.json: `./testing` */
export function isPublishedDoor(packageName: string, door: string): boolean {
  return !REPOSITORY_ONLY.includes(`${packageName}${door.slice(1)}`);
}

/** Files and folders of the repository that a package contains at the same paths, so that the `runbook_url` of an alert leads to its page there. */
export const FROM_REPOSITORY: Readonly<Record<string, readonly string[]>> = {
  server: ["deploy/prometheus/alerts.yml", "docs/runbooks"],
};
