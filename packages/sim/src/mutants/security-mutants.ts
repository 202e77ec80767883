import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const AUTHENTICATOR = `${SERVER}/security/key-authenticator.ts`;
const AUTHENTICATOR_TEST = `${SERVER}/security/key-authenticator.test.ts`;

/** Mutants in the judgement of callers, in the isolation of tenants' workers, in the renewal of certificates, and in the key of a server. */
export const securityMutants: readonly Mutant[] = [
  {
    name: "nothing asks for changes of keys",
    file: `${SERVER}/security/key-ring.ts`,
    find: "      void this.refresh();\n",
    replace: "",
    why: "a revoked key stays good on a node that the message of the revocation does not reach",
    test: {
      file: AUTHENTICATOR_TEST,
      name: "refuses a revoked key at once where it hears of it, and within a second where no message comes",
    },
  },
  {
    name: "uses of a revoked key wait for the next answer of the store",
    file: `${SERVER}/security/key-ring.ts`,
    find: "      this.#tell();\n    } while (this.#isAskedAgain);\n",
    replace: "    } while (this.#isAskedAgain);\n    this.#tell();\n",
    why: "a node that knows of a revocation keeps streams with the key while the store is slow",
    test: {
      file: AUTHENTICATOR_TEST,
      name: "ends uses of a key that was revoked, although the next question gets no answer",
    },
  },
  {
    name: "uses of a revoked key go on",
    file: AUTHENTICATOR,
    find: "      use.end(refusal);\n",
    replace: "",
    why: "streams and connections of workers that are open outlive the revocation of their key",
    test: {
      file: AUTHENTICATOR_TEST,
      name: "refuses a revoked key at once where it hears of it, and within a second where no message comes",
    },
  },
  {
    name: "a worker of a revoked key stays",
    file: `${SERVER}/gateway/connections/grpc-server.ts`,
    find: '      connection.close(code === "UNAVAILABLE" ? code : "UNAUTHENTICATED", detail);\n',
    replace: "",
    why: "a worker with a revoked key keeps its connection",
    test: {
      file: `${SERVER}/gateway/connections/grpc-server.test.ts`,
      name: "ends the stream of a worker whose key is no longer good",
    },
  },
  {
    name: "keys expire by the clock of the node",
    file: AUTHENTICATOR,
    find: "expiresAt <= runtime.now()",
    replace: "expiresAt <= Date.now()",
    why: "a node whose clock is wrong takes expired keys, or refuses good ones",
    test: { file: AUTHENTICATOR_TEST, name: "lets a key expire by the store's clock, with its streams" },
  },
  {
    name: "an unknown key is wrong at once",
    file: AUTHENTICATOR,
    find: "keyKind(credential) === null || ",
    replace: "keyKind(credential) !== null || ",
    why: "a node refuses a key that another node has created, until it hears of it",
    test: {
      file: AUTHENTICATOR_TEST,
      name: "asks the store for a key that another node has just created, once for all that come with it",
    },
  },
  {
    name: "one answer of the store serves all later unknown keys",
    file: `${SERVER}/security/unknown-keys.ts`,
    find: "    this.#question = null;\n",
    replace: "",
    why: "a node finds the first new key, and no later one",
    test: { file: AUTHENTICATOR_TEST, name: "calls no key wrong while the store cannot be asked for it" },
  },
  {
    name: "wrong keys are looked up without a pause",
    file: `${SERVER}/security/unknown-keys.ts`,
    find: "    await this.#pause();\n",
    replace: "    await Promise.resolve();\n",
    why: "a flood of wrong keys asks the store without end",
    test: {
      file: AUTHENTICATOR_TEST,
      name: "asks the store about wrong keys at most ten times a second, and about one of them once",
    },
  },
  {
    name: "a hello of another key takes a worker over",
    file: `${SERVER}/gateway/sessions/fleet.ts`,
    find: "if (known !== undefined && !isSameCaller(known.principal, link.principal)) {",
    replace: "if (known === null) {",
    why: "who knows the secret of a worker goes on with its session by a key of another tenant",
    test: {
      file: `${SERVER}/gateway/connections/hello.test.ts`,
      name: "lets another key with the worker's secret not take the worker over, but the key that replaces its own",
    },
  },
  {
    name: "output of another tenant's worker is shown",
    file: `${SERVER}/gateway/output-relay.ts`,
    find: "if (item.tenant === undefined || item.tenant === tenant) this.#send(node, item);",
    replace: "this.#send(node, item);",
    why: "a worker of one tenant writes into the stream of an execution of another one",
    test: {
      file: `${SERVER}/gateway/output-relay.test.ts`,
      name: "of a worker that a tenant owns goes to followers of its executions alone, and displaces no other output",
    },
  },
  {
    name: "links keep the certificate that they began with",
    file: `${SERVER}/adapters/mesh/mesh-bus.ts`,
    find: "    this.#door.tls.onChange(() => void this.#renewLinks());\n",
    replace: "",
    why: "a node goes on with a certificate that was replaced because its key is known to others",
    test: {
      file: `${SERVER}/adapters/mesh/link-renewal.test.ts`,
      name: "are closed with a certificate of another cluster, and come back with a right one",
    },
  },
  {
    name: "messages of the renewal of a link are lost",
    file: `${SERVER}/adapters/mesh/peer.ts`,
    find: "    if (this.#isFinished && !this.#isClosed) {\n",
    replace: "    if (this.#isFinished && this.#isClosed) {\n",
    why: "each change of a certificate loses messages between nodes",
    test: {
      file: `${SERVER}/adapters/mesh/link-renewal.test.ts`,
      name: "are renewed one by one, lose no message, and show the new certificate",
    },
  },
  {
    name: "a server takes the key of a client for its own",
    file: `${SERVER}/ops/config.ts`,
    find: "(keyKind(text) !== null || TOKEN.test(text))",
    replace: "TOKEN.test(text)",
    why: "a program with a key for submits alone may do everything",
    test: {
      file: `${SERVER}/ops/config-secrets.test.ts`,
      name: "leaves the file of a client's key or token to clients, because it must not become the key that may do everything",
    },
  },
];
