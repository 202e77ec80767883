import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SCOPES_OF } from "../domain/api-key.ts";
import { ConfigError, loadConfig } from "./config.ts";

const ISSUER = { MAINSPRING_OIDC_ISSUER: "https://login.example/realm", MAINSPRING_OIDC_AUDIENCE: "mainspring" };

function complaint(env: Record<string, string>): string {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("nothing is wrong");
}

describe("the settings of an issuer of tokens", () => {
  it("have bounds, safe algorithms and a role for each kind of key", () => {
    const { tokens } = loadConfig(ISSUER);
    assert.ok(tokens);
    const { roles, ...rest } = tokens;
    assert.deepEqual(rest, {
      ...{ issuer: "https://login.example/realm", audience: "mainspring" },
      ...{ algorithms: ["RS256", "PS256", "ES256", "EdDSA"], lifeSec: 3_600, skewSec: 30 },
      ...{ refreshSec: 10, staleSec: 3_600, rolesClaim: "scope", tenantClaim: null, poolsClaim: "mainspring_pools" },
    });
    assert.equal(roles.size, 6);
    assert.deepEqual(roles.get("mainspring:tenant-admin"), { kind: "TENANT_ADMIN", scopes: SCOPES_OF.TENANT_ADMIN });
  });

  it("give values of a claim the rights of a kind, or scopes of the least kind that has them", () => {
    const roles = (text: string) => loadConfig({ ...ISSUER, MAINSPRING_OIDC_ROLES: text }).tokens?.roles;
    const found = roles("Platform Team=operator, a=b=jobs:read, night=jobs:submit+jobs:read,root=system:admin");
    assert.deepEqual(
      Array.from(found ?? [], ([value, { kind }]) => [value, kind]),
      [
        ["Platform Team", "OPERATOR"],
        ["a=b", "READER"],
        ["night", "CLIENT"],
        ["root", "OPERATOR"],
      ],
    );
    for (const wrong of ["", "client", "=client", "a=boss", "a=jobs:submit+all", "a=client,a=reader", "a="]) {
      assert.match(
        complaint({ ...ISSUER, MAINSPRING_OIDC_ROLES: wrong || " " }),
        /^MAINSPRING_OIDC_ROLES must be a list/,
      );
    }
  });

  it("refuse an issuer that somebody on the way could replace, one without an audience, and secret keys", () => {
    for (const url of [
      "http://login.example",
      "login.example",
      "https://a:b@login.example",
      "https://login.example/?a=b",
    ])
      assert.match(
        complaint({ ...ISSUER, MAINSPRING_OIDC_ISSUER: url }),
        /^MAINSPRING_OIDC_ISSUER must be an https URL/,
      );
    assert.ok(loadConfig({ ...ISSUER, MAINSPRING_OIDC_ISSUER: "http://127.0.0.1:9000" }).tokens);
    const { MAINSPRING_OIDC_AUDIENCE: _, ...lonely } = ISSUER;
    assert.match(
      complaint(lonely),
      /^MAINSPRING_OIDC_AUDIENCE must be set, as mainspring, where MAINSPRING_OIDC_ISSUER/,
    );
    assert.match(complaint({ MAINSPRING_OIDC_AUDIENCE: "a" }), /^MAINSPRING_OIDC_ISSUER must be set where/);
    for (const algorithm of ["HS256", "none", "RS256,HS256"])
      assert.match(
        complaint({ ...ISSUER, MAINSPRING_OIDC_ALGORITHMS: algorithm }),
        /^MAINSPRING_OIDC_ALGORITHMS must be/,
      );
    assert.match(complaint({ ...ISSUER, MAINSPRING_OIDC_LIFE_SEC: "3601" }), /from 60 to 3600/);
    assert.match(complaint({ ...ISSUER, MAINSPRING_OIDC_SKEW_SEC: "301" }), /from 0 to 300/);
  });
});
