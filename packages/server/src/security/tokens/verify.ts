import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose";
import type { EpochMs } from "../../domain/ids.ts";
import type { TokenRules } from "../../ports/issuer.ts";
import type { IssuerKeys } from "./issuer-keys.ts";

/** Largest token, in characters. */
const TOKEN_MAX_CHARS = 8_192;
/** Types of tokens that may be shown as access tokens (RFC 9068, and issuers of before). */
const TYPES = ["at+jwt", "application/at+jwt", "jwt"];

/** A token that the issuer has signed for this server, and that is good now. */
export interface VerifiedToken {
  claims: JWTPayload;
  /** End of the token, with the difference of clocks. */
  endsAt: EpochMs;
  /** Id of the key that signed it; undefined: the token names none. */
  kid: string | undefined;
}

export interface VerifyParts {
  issuer: string;
  rules: Pick<TokenRules, "audience" | "algorithms" | "skewSec" | "lifeSec">;
  keys: Pick<IssuerKeys, "find">;
}

/**
 * Verifies a token.
 * @returns a text: the reason why it is wrong, for the operator
 * @throws {IssuerSilent} the keys of the issuer are not known
 */
export async function verifiedToken(text: string, now: EpochMs, parts: VerifyParts): Promise<VerifiedToken | string> {
  const { issuer, rules, keys } = parts;
  if (text.length > TOKEN_MAX_CHARS) return `it is longer than ${TOKEN_MAX_CHARS} characters`;
  try {
    const { typ, kid } = decodeProtectedHeader(text);
    if (typ !== undefined && !TYPES.includes(typ.toLowerCase())) return "its type (typ) is not that of an access token";
    // A token of somebody else gives no reason to ask the issuer for a new key.
    if (decodeJwt(text).iss !== issuer) return "it comes from another issuer";
    const { payload } = await jwtVerify(text, keys.find, {
      ...{ issuer, audience: rules.audience, algorithms: [...rules.algorithms], clockTolerance: rules.skewSec },
      currentDate: new Date(now),
    });
    const fault = lifeFault(payload, now, rules) ?? bindingFault(payload);
    return fault ?? { claims: payload, endsAt: ((payload.exp as number) + rules.skewSec) * 1_000, kid };
  } catch (error) {
    if (error instanceof errors.JOSEError) return reasonOf(error, rules);
    // decodeProtectedHeader throws it for a header that is no JSON.
    if (error instanceof TypeError) return "it is no JWT";
    throw error;
  }
}

function lifeFault({ exp, iat }: JWTPayload, now: EpochMs, { skewSec, lifeSec }: VerifyParts["rules"]): string | null {
  if (exp === undefined) return "it has no claim exp";
  if (iat === undefined) return "it has no claim iat";
  if (iat * 1_000 > now + skewSec * 1_000) return "it was issued in the future (iat)";
  return exp - iat > lifeSec ? `its life is longer than ${lifeSec} s (exp - iat), and it cannot be revoked` : null;
}

/** A token that is bound to a key of its client (DPoP, mTLS) needs a proof that this server does not check. */
function bindingFault({ cnf }: JWTPayload): string | null {
  return cnf === undefined ? null : "it is bound to a key of its client (cnf), which this server does not check";
}

function reasonOf(error: errors.JOSEError, { audience, algorithms }: VerifyParts["rules"]): string {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === "missing") return `it has no claim ${error.claim}`;
    if (error.claim === "aud") return `it is for another audience than ${audience}`;
    return error.claim === "nbf" ? "it is not good yet (nbf)" : `its claim ${error.claim} is wrong`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return `its algorithm (alg) is none of ${algorithms.join(", ")}`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return "its signature is wrong";
  if (error instanceof errors.JWKSNoMatchingKey) return "the issuer has no key that fits it";
  if (error instanceof errors.JWKSMultipleMatchingKeys) return "it names no key (kid), and the issuer has several";
  return error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid
    ? "it is no JWT"
    : "its key or an extension in its header cannot be used";
}
