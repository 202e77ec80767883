import type { Rule } from "./source.ts";

const API = /^packages\/server\/src\/api\/.*(?<![.](test|fixture))[.]ts$/;
const SCRIPT = /^packages\/.*[.]ts$/;
const SECURITY = /^packages\/server\/src\/security\//;
/** Files of the api that make a tenant of something else than a credential, which is a row or a topic. */
const FROM_ROWS = /\/(request-judge|cancel-settler|create-api|tenant-routes|tenant-removals|execution-runs)[.]ts$/;
/** Files of the api that read what belongs to all tenants. */
const OVER_ALL = /\/(missed-watch|stats-route|tenant-views|create-api)[.]ts$/;

/**
 * Wants tenants from credentials only: handlers get the store of one tenant (security/tenant-stores.ts), and nothing but the
 * security module makes the type Tenant.
 */
export const tenantsFromCredentials: Rule = ({ path, text }) => {
  const rules: [boolean, RegExp, string][] = [
    [API.test(path), /\bDEFAULT_TENANT\b/, "the api names no tenant: take that of the caller (tenantOfCaller)"],
    [API.test(path) && !FROM_ROWS.test(path), /\btenantOf\b/, "a handler makes no tenant: take that of the caller"],
    [API.test(path) && !OVER_ALL.test(path), /\bStoreQueries\b/, "a handler reads by the store of one tenant"],
    [SCRIPT.test(path) && !SECURITY.test(path), /\bas Tenant\b/, "only the security module makes tenants"],
  ];
  return text
    .split("\n")
    .flatMap((line, index) =>
      rules
        .filter(([applies, pattern]) => applies && pattern.test(line))
        .map(([, , message]) => ({ path, line: index + 1, message })),
    );
};
