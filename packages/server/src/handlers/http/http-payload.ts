import { type Static, Type } from "typebox";
import { payloadSchema } from "../payload-schema.ts";

/** Statuses that are retried, unless the payload says otherwise. */
const RETRIED = [408, 425, 429, "5xx"];
/** Headers that the connection, the signature or the token need. */
const OWN_HEADERS = [
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "mainspring-fence",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
];
const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const;
const BODILESS = ["GET", "HEAD", "OPTIONS"];

const HttpPayloadSchema = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 8_192, description: "an http or https URL" }),
    method: Type.Optional(
      Type.Union(
        METHODS.map((method) => Type.Literal(method)),
        { description: `one of ${METHODS.join(", ")}` },
      ),
    ),
    headers: Type.Optional(
      Type.Record(
        Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$" }),
        Type.String({ pattern: "^[\\t\\x20-\\x7e\\x80-\\xff]{0,8192}$" }),
        {
          additionalProperties: false,
          maxProperties: 64,
          description: "an object of up to 64 header names and values, in Latin-1 without line breaks",
        },
      ),
    ),
    body: Type.Optional(Type.Unknown({ description: "text, or any other JSON" })),
    timeoutSec: Type.Optional(
      Type.Number({ minimum: 0.001, maximum: 3_600, description: "a number of seconds from 0.001 to 3600" }),
    ),
    retryStatuses: Type.Optional(
      Type.Array(Type.Union([Type.Integer({ minimum: 300, maximum: 599 }), Type.String({ pattern: "^[345]xx$" })]), {
        maxItems: 64,
        description: 'a list of statuses from 300 to 599, or "3xx", "4xx", "5xx"',
      }),
    ),
  },
  { additionalProperties: false },
);

export type HttpPayload = Static<typeof HttpPayloadSchema>;

export const httpPayload = payloadSchema(HttpPayloadSchema, refusals);

function* urlRefusals(text: string): Generator<[string, string]> {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) yield ["url", "must be an http or https URL"];
  else if (url.username !== "" || url.password !== "") {
    yield ["url", "must not hold a user or password: use the header authorization"];
  }
}

function refusals({ url, headers = {}, body, ...rest }: HttpPayload): [string, string][] {
  const found = [...urlRefusals(url)];
  const method = methodOf({ body, ...rest });
  if (body !== undefined && BODILESS.includes(method)) found.push(["body", `must not be there: ${method} sends none`]);
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const own = names.filter((name) => OWN_HEADERS.includes(name));
  if (own.length > 0) found.push(["headers", `must not hold ${own.join(", ")}: the request sets that by itself`]);
  if (new Set(names).size < names.length) found.push(["headers", "must hold each name once: case makes no difference"]);
  return found;
}

/** Method of the request: GET, or POST if there is a body. */
export function methodOf({ method, body }: Pick<HttpPayload, "method" | "body">): (typeof METHODS)[number] {
  return method ?? (body === undefined ? "GET" : "POST");
}

/** Whether a request with that answer status is retried. */
export function isRetried(status: number, { retryStatuses = RETRIED }: Pick<HttpPayload, "retryStatuses">): boolean {
  return retryStatuses.some((entry) => entry === status || entry === `${Math.floor(status / 100)}xx`);
}
