import assert from "node:assert/strict";
import { it } from "node:test";
import { troubleAt } from "./grpc-trouble.ts";

const target = { address: "db.example:8081", isTls: false };
const NO_CONNECTION = "No connection established. Last error: ";

it("trouble with a gateway names its address, and the setting where that may be wrong", () => {
  const of = (details: string) => troubleAt(target, details);
  assert.match(
    of(`${NO_CONNECTION}Error: connect ECONNREFUSED 10.0.0.1:8081. Resolution note: `),
    /^connection refused at db\.example:8081: is MAINSPRING_GRPC_URL/,
  );
  assert.match(
    of(`${NO_CONNECTION}Protocol error (2026-01-02T03:04:05.678Z). Resolution note: `),
    /^db\.example:8081 does not speak gRPC without TLS: is MAINSPRING_GRPC_URL .*right\?/,
  );
  assert.match(
    of("Name resolution failed for target dns:db.example:8081"),
    /^the host of db\.example:8081 is not known: is MAINSPRING_GRPC_URL/,
  );
  assert.equal(
    of(`${NO_CONNECTION}read ECONNRESET (2026-01-02T03:04:05.678Z). Resolution note: `),
    "db.example:8081: read ECONNRESET",
  );
  assert.match(
    of(`${NO_CONNECTION}Error: certificate has expired. Resolution note: `),
    /^the certificate of db\.example:8081 has expired: the operator of the server must renew it/,
  );
  assert.equal(of("the server stops"), "db.example:8081: the server stops");
});
