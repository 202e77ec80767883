import assert from "node:assert/strict";
import { before, beforeEach, describe, it } from "node:test";
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from "jose";
import { pino } from "pino";
import { loadConfig } from "../../ops/config.ts";
import { isRefusal, type Principal, type Refusal } from "../../ports/authenticator.ts";
import { type Issuer, type IssuerKey, IssuerUnavailable } from "../../ports/issuer.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { KeyAuthenticator } from "../key-authenticator.ts";
import { SettingsKeys } from "../settings-keys.ts";
import { IssuerKeys } from "./issuer-keys.ts";
import { TokenJudge } from "./token-judge.ts";

const ISSUER = "https://login.example/realm";
const ADDRESS = "10.0.0.9";
const EXTENSION = "its key or an extension in its header cannot be used";

/** Claims of a token; undefined: the token does not have the claim. */
type Claims = Record<string, unknown>;

/** An issuer that can be away, and that changes its keys. */
class TestIssuer implements Issuer {
  readonly url = ISSUER;
  published: IssuerKey[] = [];
  isAway = false;
  asked = 0;

  async keys(): Promise<readonly IssuerKey[]> {
    this.asked++;
    if (this.isAway) throw new IssuerUnavailable("it is away");
    return this.published;
  }
}

/** Key pair of an issuer. */
interface Pair {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  jwk: IssuerKey;
}

async function pairOf(kid: string, alg: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

describe("the judgement of callers by tokens", () => {
  let rsa: Pair;
  let ec: Pair;
  before(async () => {
    [rsa, ec] = [await pairOf("first", "RS256"), await pairOf("second", "ES256")];
  });

  let runtime: ManualRuntime;
  let issuer: TestIssuer;
  let lines: string[];
  let authenticator: KeyAuthenticator;
  let keys: IssuerKeys | undefined;
  const start = (settings: Record<string, string> = {}, apiKey: string | null = null) => {
    const { tokens } = loadConfig({
      ...{ MAINSPRING_OIDC_ISSUER: ISSUER, MAINSPRING_OIDC_AUDIENCE: "mainspring" },
      ...settings,
    });
    assert.ok(tokens);
    const log = pino({ level: "warn", base: null, timestamp: false }, { write: (line) => void lines.push(line) });
    keys?.stop();
    keys = new IssuerKeys({ issuer, rules: tokens, runtime, log });
    const isTenant = (name: string) => ["default", "acme"].includes(name);
    const judge = new TokenJudge({ issuer: tokens.issuer, rules: tokens, keys, isTenant, runtime, log });
    const settingsKeys = new SettingsKeys({ apiKey });
    authenticator = new KeyAuthenticator({
      settings: settingsKeys,
      ring: null,
      tenants: null,
      used: null,
      tokens: judge,
      runtime,
      staleMs: 0,
    });
    keys.start();
  };
  beforeEach(() => {
    runtime = new ManualRuntime();
    issuer = new TestIssuer();
    issuer.published = [rsa.jwk];
    lines = [];
    start();
  });

  const nowSec = () => Math.floor(runtime.now() / 1_000);
  /** A token of the first key that is good for five minutes, with other claims where they are given. */
  const token = async (
    claims: Claims = {},
    { pair = rsa, header = {} }: { pair?: Pair; header?: Partial<JWTHeaderParameters> } = {},
  ): Promise<string> => {
    const iat = nowSec();
    const own = { iss: ISSUER, aud: "mainspring", sub: "shop", iat, exp: iat + 300, scope: "openid mainspring:client" };
    return await new SignJWT({ ...own, ...claims } as JWTPayload)
      .setProtectedHeader({ alg: pair.alg, kid: pair.kid, typ: "at+jwt", ...header })
      .sign(pair.privateKey);
  };
  const judge = async (credential: string, address = ADDRESS): Promise<Principal | Refusal> =>
    await authenticator.judge(`Bearer ${credential}`, address);
  const says = async (credential: string, address = ADDRESS): Promise<string> => {
    const judged = await judge(credential, address);
    return isRefusal(judged) ? judged.code : judged.keyId;
  };
  const forged = (header: object, claims: object, signature = "") =>
    `${[header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.${signature}`;
  /** Reasons in the log since the last call. */
  const reasons = () => lines.splice(0).map((line) => JSON.parse(line).msg.replace("the server refused a token: ", ""));

  it("gives a caller the rights that its claims name, and knows the token again without another look", async () => {
    const text = await token();
    const judged = (await judge(text)) as Principal;
    assert.deepEqual(
      [judged.keyId, judged.kind, judged.tenant, judged.source, [...judged.scopes].sort()],
      ["oidc:shop", "CLIENT", "default", "TOKEN", ["jobs:read", "jobs:submit", "jobs:write", "runs:control"]],
    );
    const again = authenticator.judge(`Bearer ${text}`, ADDRESS);
    assert.equal(again, judged);
    assert.equal(authenticator.judgeAgain(judged), null);
    assert.equal(authenticator.isOpen, false);
  });

  it("takes roles, tenants and pools from the claims that the settings name", async () => {
    start({
      MAINSPRING_OIDC_ROLES_CLAIM: "realm_access.roles",
      MAINSPRING_OIDC_ROLES: "fleet=worker, Batch Team=jobs:submit+jobs:read,root=operator",
      MAINSPRING_OIDC_TENANT_CLAIM: "https://mainspring.example/tenant",
      MAINSPRING_OIDC_POOLS_CLAIM: "pools",
    });
    const of = async (roles: string[], more: Claims = {}) => {
      const tenant = { "https://mainspring.example/tenant": "acme" };
      const judged = await judge(await token({ realm_access: { roles }, ...tenant, ...more }));
      return isRefusal(judged) ? judged.code : [judged.kind, judged.tenant, [...judged.scopes].sort(), judged.pools];
    };
    assert.deepEqual(await of(["Batch Team", "x"]), ["CLIENT", "acme", ["jobs:read", "jobs:submit"], []]);
    assert.deepEqual(await of(["fleet"], { pools: ["gpu-*"] }), ["WORKER", "acme", ["worker:serve"], ["gpu-*"]]);
    assert.deepEqual(await of(["fleet"]), ["WORKER", "acme", ["worker:serve"], ["*"]]);
    const both = await of(["fleet", "Batch Team"], { pools: "gpu mail" });
    assert.deepEqual(both, ["CLIENT", "acme", ["jobs:read", "jobs:submit", "worker:serve"], ["gpu", "mail"]]);
    assert.deepEqual((await of(["root"], { "https://mainspring.example/tenant": undefined }))[1], "default");
    assert.deepEqual(reasons(), []);
    assert.equal(await of(["Batch Team"], { "https://mainspring.example/tenant": "other" }), "UNAUTHENTICATED");
    assert.equal(await of(["Batch Team"], { "https://mainspring.example/tenant": undefined }), "UNAUTHENTICATED");
    assert.equal(await of(["nobody"]), "UNAUTHENTICATED");
    assert.equal(await of(["__proto__", "constructor"]), "UNAUTHENTICATED");
    assert.equal(await of(["fleet"], { pools: [7] }), "UNAUTHENTICATED");
    const tenantless = "the claim of MAINSPRING_OIDC_TENANT_CLAIM names no tenant that there is";
    const roleless = "no value of the claim of MAINSPRING_OIDC_ROLES_CLAIM is in MAINSPRING_OIDC_ROLES";
    const pools =
      "the claim of MAINSPRING_OIDC_POOLS_CLAIM must be a list of pools, in which * stands for any characters";
    assert.deepEqual(reasons(), [tenantless, tenantless, roleless, roleless, pools]);
  });

  it("refuses a token that is not for it or not good now, and tells the reason to the log alone", async () => {
    const iat = nowSec();
    const wrong: [string, string][] = [
      [await token({ iss: "https://login.example/other" }), "it comes from another issuer"],
      [await token({ aud: ["billing"] }), "it is for another audience than mainspring"],
      [await token({ aud: undefined }), "it has no claim aud"],
      [await token({ iat: iat - 600, exp: iat - 31 }), "it has expired"],
      [await token({ exp: undefined }), "it has no claim exp"],
      [await token({ iat: undefined }), "it has no claim iat"],
      [await token({ nbf: iat + 31 }), "it is not good yet (nbf)"],
      [await token({ iat: iat + 31, exp: iat + 60 }), "it was issued in the future (iat)"],
      [await token({ exp: iat + 3_601 }), "its life is longer than 3600 s (exp - iat), and it cannot be revoked"],
      [await token({ iat: iat - 86_400 }), "its life is longer than 3600 s (exp - iat), and it cannot be revoked"],
      [await token({ exp: "soon" }), "its claim exp is wrong"],
      [await token({ sub: undefined }), "its claim sub must be 1 to 200 visible ASCII characters"],
      [await token({ sub: "a b" }), "its claim sub must be 1 to 200 visible ASCII characters"],
      [
        await token({ scope: undefined }),
        "no value of the claim of MAINSPRING_OIDC_ROLES_CLAIM is in MAINSPRING_OIDC_ROLES",
      ],
      [
        await token({ cnf: { jkt: "x" } }),
        "it is bound to a key of its client (cnf), which this server does not check",
      ],
      [await token({}, { header: { typ: "logout+jwt" } }), "its type (typ) is not that of an access token"],
      [forged({ alg: "RS256", kid: "first", crit: ["x"], x: 1 }, { iss: ISSUER }), EXTENSION],
      [await token({ filler: "x".repeat(8_192) }), "it is longer than 8192 characters"],
      ["a.b.c", "it is no JWT"],
      [`${(await token()).slice(0, -4)}AAAA`, "its signature is wrong"],
    ];
    for (const [at, [text, reason]] of wrong.entries()) {
      const judged = await judge(text, `10.0.1.${at}`);
      assert.deepEqual(judged, { code: "UNAUTHENTICATED", detail: "the token was refused", isToken: true }, reason);
      assert.ok(!lines.some((line) => line.includes(text)), "the log has no token");
      const [found, ...others] = reasons();
      assert.equal(found, reason);
      assert.deepEqual(others, []);
    }
  });

  it("takes the clock of the issuer within the bound of the settings", async () => {
    const iat = nowSec();
    assert.equal(await says(await token({ iat: iat + 29, exp: iat + 60 })), "oidc:shop");
    assert.equal(await says(await token({ iat: iat - 60, exp: iat - 29, sub: "late" })), "oidc:late");
  });

  it("lets no token choose an algorithm that is not in the settings, nor use a public key as a secret one", async () => {
    const claims = {
      iss: ISSUER,
      aud: "mainspring",
      sub: "root",
      iat: nowSec(),
      exp: nowSec() + 60,
      scope: "mainspring:operator",
    };
    const secrets = [await exportSPKI(rsa.publicKey), JSON.stringify(rsa.jwk), String(rsa.jwk["n"])];
    const texts = [
      forged({ alg: "none", typ: "at+jwt" }, claims),
      forged({ alg: "None", kid: "first" }, claims, "AA"),
      ...(await Promise.all(
        secrets.map((secret) =>
          new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "first" }).sign(new TextEncoder().encode(secret)),
        ),
      )),
      // The algorithm exists, and the settings do not have it.
      await new SignJWT(claims)
        .setProtectedHeader({ alg: "RS512", kid: "first" })
        .sign((await pairOf("first", "RS512")).privateKey),
    ];
    for (const [at, text] of texts.entries()) {
      assert.equal(await says(text, `10.0.2.${at}`), "UNAUTHENTICATED");
      assert.deepEqual(reasons(), ["its algorithm (alg) is none of RS256, PS256, ES256, EdDSA"]);
    }
    // A key that the token brings along is not one of the issuer.
    const own = await pairOf("first", "RS256");
    assert.equal(
      await says(await token({}, { pair: own, header: { jwk: own.jwk as never, jku: "https://evil.example" } })),
      "UNAUTHENTICATED",
    );
    assert.deepEqual(reasons(), ["its signature is wrong"]);
    // A key of the issuer for one algorithm verifies no other one.
    assert.equal(await says(await token({}, { pair: { ...ec, kid: "first" } })), "UNAUTHENTICATED");
    assert.deepEqual(reasons(), ["the issuer has no key that fits it"]);
  });

  it("asks for the keys again when a token names an unknown one, but not more often than the settings say", async () => {
    assert.equal(await says(await token()), "oidc:shop");
    assert.equal(issuer.asked, 1);
    issuer.published = [rsa.jwk, ec.jwk];
    await runtime.advance(10_000);
    const next = await Promise.all(Array.from({ length: 5 }, async () => await says(await token({}, { pair: ec }))));
    assert.deepEqual([next, issuer.asked], [Array(5).fill("oidc:shop"), 2]);
    const unknown = await pairOf("third", "ES256");
    for (let n = 0; n < 5; n++) assert.equal(await says(await token({}, { pair: unknown })), "UNAUTHENTICATED");
    assert.equal(issuer.asked, 2);
    await runtime.advance(10_000);
    assert.equal(await says(await token({}, { pair: unknown })), "UNAUTHENTICATED");
    assert.equal(issuer.asked, 3);
    // A token of another issuer makes it ask for nothing.
    await runtime.advance(10_000);
    assert.equal(await says(await token({ iss: "https://evil.example" }, { pair: unknown })), "UNAUTHENTICATED");
    assert.equal(issuer.asked, 3);
  });

  it("ends what a token has open within a second of the token's end", async () => {
    const ended: Refusal[] = [];
    const principal = (await judge(await token({ exp: nowSec() + 10 }))) as Principal;
    authenticator.hold({ principal, end: (refusal) => ended.push(refusal) });
    await runtime.advance(39_000);
    assert.deepEqual([ended, authenticator.judgeAgain(principal)], [[], null]);
    await runtime.advance(2_000);
    assert.deepEqual(ended, [{ code: "UNAUTHENTICATED", detail: "the token was refused", isToken: true }]);
  });

  it("refuses tokens, also those that it knows, of a key that the issuer has withdrawn or replaced", async () => {
    const ended: string[] = [];
    const text = await token({ exp: nowSec() + 3_600 });
    const principal = (await judge(text)) as Principal;
    authenticator.hold({ principal, end: ({ code }) => ended.push(code) });
    const other = await pairOf("first", "RS256");
    issuer.published = [other.jwk];
    await runtime.advance(300_000);
    assert.deepEqual([ended, await says(text)], [["UNAUTHENTICATED"], "UNAUTHENTICATED"]);
    assert.equal(await says(await token({}, { pair: other })), "oidc:shop");
  });

  it("goes on with known keys while the issuer is away, and then says that it is away", async () => {
    start({ MAINSPRING_OIDC_STALE_SEC: "600" }, "the-key-of-settings");
    const text = await token({ exp: nowSec() + 3_000 });
    const principal = (await judge(text)) as Principal;
    const ended: string[] = [];
    authenticator.hold({ principal, end: ({ code }) => ended.push(code) });
    issuer.isAway = true;
    await runtime.advance(500_000);
    assert.equal(await says(text), "oidc:shop");
    const unknown = await judge(await token({}, { pair: ec }));
    assert.deepEqual(unknown, {
      code: "UNAVAILABLE",
      detail: `the issuer ${ISSUER} cannot be asked for a new key now`,
    });
    await runtime.advance(200_000);
    assert.deepEqual([await says(text), ended], ["UNAVAILABLE", ["UNAVAILABLE"]]);
    assert.match(((await judge(text)) as Refusal).detail, /the issuer https:\/\/login\.example\/realm/);
    assert.equal(await says("the-key-of-settings"), "environment");
    issuer.isAway = false;
    await runtime.advance(10_000);
    assert.equal(await says(text), "oidc:shop");
    assert.equal(reasons().length, 1, "an outage is one line");
  });

  it("starts while the issuer is away", async () => {
    issuer.isAway = true;
    start();
    assert.equal(await says(await token()), "UNAVAILABLE");
    issuer.isAway = false;
    await runtime.advance(10_000);
    assert.equal(await says(await token()), "oidc:shop");
  });

  it("counts wrong tokens of an address as wrong keys", async () => {
    for (let n = 0; n < 20; n++) assert.equal(await says(await token({ aud: `other-${n}` })), "UNAUTHENTICATED");
    assert.equal(await says(await token()), "TOO_MANY_TRIES");
    await runtime.advance(1_000);
    assert.equal(await says(await token()), "oidc:shop");
  });
});
